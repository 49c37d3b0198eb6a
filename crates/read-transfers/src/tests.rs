//! Reports as the agent writes them, and damaged ones.

use super::*;

const HEAD: &str = r#"{"format":"slowpath-transfers","version":1,"pid":7,"java":"17","program":null,"backend":"field-mask","begin_ns":1000,"end_ns":2000,"rate":1.0,"arms_per_second":20,"samples":385,"watched_now":3,"not_watched":{"over_cap":1,"too_many":0,"reads_unseen":0},"responses_without_context":0,"failures":0,"classes_not_rewritten":0}"#;

/// A context with one class, of whose ten decided objects one field was used in `used`, and read to print in one.
fn line(used: u64) -> String {
    let unused = 9 - used.min(9);
    format!(
        r#"{{"context":1,"call_path":[{{"class":"shop.Planner","method":"one","file":"Planner.java","line":58}}],"endpoint":{{"method":"GET","url":"http://tickets/{{id}}"}},"by":"RestTemplate","responses":90,"looked_into":12,"too_large":0,"classes":[{{"class":"shop.Ticket","responses":12,"objects":24,"watched":12,"decided":10,"censored":2,"utilisation":0.2,"fields":[{{"name":"price","type":"double","used":{used},"printed":1,"unused":{unused},"censored":2,"censored_used":1,"present":12,"bytes":144,"interval":[0.1,0.3]}}]}}]}}"#
    )
}

#[test]
fn a_report_is_read() {
    let text = format!("{HEAD}\n{}\n", line(2));
    assert!(is_transfers(text.as_bytes()));
    let (transfers, told) = read_transfers("x.jsonl", text.as_bytes());
    let transfers = transfers.expect("it is whole");
    assert_eq!(told, []);
    assert_eq!(
        (transfers.head.pid, transfers.head.program.as_str()),
        (7, "")
    );
    let context = &transfers.contexts[0];
    assert_eq!((context.number, context.responses), (1, 90));
    assert_eq!(context.call_path[0].file.as_deref(), Some("Planner.java"));
    let field = &context.classes[0].fields[0];
    assert_eq!((field.used, field.printed, field.unused), (2, 1, 7));
}

/// The same of objects of which each stands for two.
fn by_weight(line: &str) -> String {
    let weighted = r#""bytes":144,"weighted":{"used":4,"printed":2,"unused":14,"squares":40,"bytes":288,"bytes_decided":240,"bytes_in_vain":192}"#;
    line.replace(
        r#""censored":2,"utilisation""#,
        r#""censored":2,"watched_weight":24,"utilisation""#,
    )
    .replace(r#""bytes":144"#, weighted)
}

#[test]
fn weights_are_read_where_they_are_told() {
    let text = format!("{HEAD}\n{}\n{}\n", line(2), by_weight(&line(2)));
    let (transfers, told) = read_transfers("x.jsonl", text.as_bytes());
    assert_eq!(told, []);
    let contexts = transfers.expect("it is whole").contexts;
    let [older, newer] = [0, 1].map(|context| &contexts[context].classes[0]);
    assert_eq!((older.watched_weight, older.fields[0].weighted), (0, None));
    let weighted = newer.fields[0].weighted.expect("it is told");
    assert_eq!(
        (newer.watched_weight, weighted.decided(), weighted.squares),
        (24, 20, 40)
    );
    for (right, wrong) in [
        (r#""used":4"#, r#""used":1"#),
        (r#""unused":14"#, r#""unused":19"#),
        (r#""squares":40"#, r#""squares":39"#),
        (r#""squares":40"#, r#""squares":18446744073709551615"#),
        (r#""bytes_in_vain":192"#, r#""bytes_in_vain":241"#),
        (r#""bytes_decided":240"#, r#""bytes_decided":289"#),
    ] {
        let damaged = by_weight(&line(2)).replace(right, wrong);
        let (_, told) = read_transfers("x.jsonl", format!("{HEAD}\n{damaged}\n").as_bytes());
        assert_eq!(told.len(), 1, "{wrong}: {told:?}");
        let expected = "the weights of shop.Ticket.price cannot be those of its objects";
        assert!(told[0].message.contains(expected), "{}", told[0].message);
    }
}

#[test]
fn of_watchpoints_the_fields_add_up_together() {
    let two_fields = line(2)
        .replace(
            r#""unused":7"#,
            r#""unused":3"#,
        )
        .replace(
            r#""fields":["#,
            r#""fields":[{"name":"seat","type":"int","used":0,"printed":0,"unused":4,"censored":0,"censored_used":0,"present":12,"bytes":9},"#,
        );
    let head = HEAD.replace("field-mask", "watchpoints").replace(
        r#"{"over_cap":1,"too_many":0,"reads_unseen":0}"#,
        r#"{"over_cap":1,"registers_busy":5}"#,
    );
    let two_fields = two_fields
        .replace(r#""watched":12"#, r#""watched":16"#)
        .replace(
            r#""censored":2,"utilisation""#,
            r#""censored":2,"lost":4,"utilisation""#,
        );
    let (transfers, told) = read_transfers("x.jsonl", format!("{head}\n{two_fields}\n").as_bytes());
    assert_eq!(told, []);
    let transfers = transfers.expect("it is whole");
    assert_eq!(transfers.head.not_watched.registers_busy, 5);
    let class = &transfers.contexts[0].classes[0];
    assert_eq!(class.lost, 4);
    let decided: Vec<u64> = class.fields.iter().map(Field::decided).collect();
    assert_eq!((class.decided, decided), (10, vec![4, 6]));
}

#[test]
fn keys_come_in_any_order_and_with_white_space() {
    let format = r#""format":"slowpath-transfers","#;
    let rest = HEAD
        .strip_prefix("{")
        .and_then(|head| head.strip_prefix(format));
    let rest = rest
        .and_then(|rest| rest.strip_suffix("}"))
        .expect("a head");
    for head in [
        format!(r#"{{{rest},"format":"slowpath-transfers"}}"#),
        format!("{{ \"format\" : \"slowpath-transfers\", {rest} }}"),
        HEAD.replace(':', ": ").replace(',', ", "),
        format!("  {HEAD}"),
    ] {
        assert!(is_transfers(head.as_bytes()), "{head}");
        let (transfers, told) =
            read_transfers("x.jsonl", format!("{head}\n{}\n", line(2)).as_bytes());
        assert_eq!(told, []);
        assert_eq!(transfers.map(|transfers| transfers.contexts.len()), Some(1));
    }
    for other in [
        r#""format":"slowpath-transfers""#,
        r#"{"program":"slowpath-transfers"}"#,
        r#"{"format":"slowpath-other"}"#,
        "{\"format\":\n\"slowpath-transfers\"}",
        r#"{"text":"\"format\":\"slowpath-transfers\""}"#,
        "",
    ] {
        assert!(!is_transfers(other.as_bytes()), "{other}");
    }
}

#[test]
fn lines_that_make_no_sense_are_left_out_and_told() {
    let check = |text: String, contexts: Option<usize>, wrong: &str| {
        let (transfers, told) = read_transfers("x.jsonl", text.as_bytes());
        assert_eq!(
            transfers.map(|transfers| transfers.contexts.len()),
            contexts
        );
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].code, DiagnosticCode::InvalidTransfers);
        assert!(told[0].message.contains(wrong), "{}", told[0].message);
    };
    let whole = line(2);
    check(
        format!("{HEAD}\n{}\n{whole}\n", &whole[..200]),
        Some(1),
        "damaged",
    );
    let moved = whole.replace(
        r#""censored":2,"utilisation""#,
        r#""censored":2,"lost":1,"utilisation""#,
    );
    check(
        format!("{HEAD}\n{whole}\n{moved}\n"),
        Some(1),
        "of 12 watched objects of shop.Ticket more were decided, censored and lost",
    );
    check(
        format!("{HEAD}\n{whole}\n{}\n", line(10)),
        Some(1),
        "add up to 10",
    );
    let by_registers = HEAD.replace("field-mask", "watchpoints");
    check(
        format!("{by_registers}\n{whole}\n{}\n", line(10)),
        Some(1),
        "the fields of shop.Ticket do not add up to 10",
    );
    check(
        HEAD.replace("\"version\":1,\"pid\":7", "\"version\":2"),
        None,
        "version 2",
    );
    check(
        HEAD.replace("\"end_ns\":2000", "\"end_ns\":999"),
        None,
        "it ends (at 999 ns) before it begins (at 1000 ns)",
    );
    check(
        format!("{HEAD}\n{whole}\n{HEAD}\n{whole}\n{whole}\n"),
        Some(1),
        "another report begins here",
    );
    check("{}\n".to_owned(), None, "does not begin");
}
