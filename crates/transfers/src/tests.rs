//! Transfers drawn in text, a line for each field: "name used printed unused bytes", of as many objects as decided; behind
//! that, in how many of the five censored ones it was read, where it was.

use slowpath_read_transfers::{Length, Transfers, Weighted, read_transfers};

use crate::report::{LeftOut, Report, TransferRow, Use};
use crate::share::Share;

/// A process that ran for ten seconds, with a context of 100 responses, 50 of them looked into, two objects in each. Where
/// not as many objects are decided of each field, it is one field of each object that was watched.
fn process(drawn: &str) -> Transfers {
    let lines: Vec<(&str, [u64; 5])> = (drawn.lines().map(str::trim))
        .filter(|line| !line.is_empty())
        .map(|line| {
            let (name, numbers) = line.split_once(' ').expect("name and numbers");
            let mut numbers: Vec<u64> = (numbers.split_whitespace())
                .map(|number| number.parse().expect("a number"))
                .collect();
            if numbers.len() == 4 {
                numbers.push(0);
            }
            (name, numbers.try_into().expect("four numbers or five"))
        })
        .collect();
    let decided_of = |numbers: &[u64; 5]| numbers[..3].iter().sum::<u64>();
    let first = lines.first().map_or(0, |(_, numbers)| decided_of(numbers));
    let all = lines.iter().map(|(_, numbers)| decided_of(numbers));
    let (backend, decided) = match all.clone().all(|decided| decided == first) {
        true => ("field-mask", first),
        false => ("watchpoints", all.sum()),
    };
    let fields: Vec<String> = (lines.iter())
        .map(|(name, [used, printed, unused, bytes, censored_used])| {
            let present = if name.starts_with("null") { 0 } else { decided };
            let bytes = bytes * (decided + 5);
            format!(
                r#"{{"name":"{name}","type":"int","used":{used},"printed":{printed},"unused":{unused},"censored":5,"censored_used":{censored_used},"present":{present},"bytes":{bytes}}}"#,
            )
        })
        .collect();
    let text = format!(
        r#"{{"format":"slowpath-transfers","version":1,"pid":7,"program":"shop","backend":"{backend}","begin_ns":0,"end_ns":10000000000,"samples":385,"watched_now":0,"not_watched":{{"over_cap":0,"too_many":0,"reads_unseen":0}},"responses_without_context":0,"failures":0,"classes_not_rewritten":0}}
{{"context":1,"call_path":[{{"class":"shop.A","method":"a","file":"A.java","line":3}},{{"class":"shop.B","method":"b","file":null,"line":-1}}],"endpoint":{{"method":"GET","url":"http://t/{{id}}"}},"by":"RestTemplate","responses":100,"looked_into":50,"too_large":0,"classes":[{{"class":"shop.T","responses":50,"objects":100,"watched":{},"decided":{decided},"censored":5,"fields":[{}]}}]}}"#,
        decided + 5,
        fields.join(",")
    );
    let (transfers, told) = read_transfers("drawn", text.as_bytes());
    assert_eq!(told, []);
    transfers.expect("it is whole")
}

fn row(drawn: &str) -> TransferRow {
    let mut rows = Report::new(&[process(drawn)], 0).transfers;
    rows.pop().expect("there is a context")
}

#[test]
fn advice_says_what_to_ask_for() {
    let check = |drawn: &str, expected: &str, is_needed: bool| {
        let advice = row(drawn).advice;
        assert_eq!(
            (advice.text.as_str(), advice.is_needed),
            (expected, is_needed),
            "{drawn}"
        );
    };
    check(
        "to 400 0 0 20
         from 0 0 400 20
         seat 0 9 391 10",
        "only `to` is read: ask for that field; only logged, compared or printed: `seat`",
        true,
    );
    check(
        "to 400 0 0 20
         price 100 0 300 10
         seat 0 0 400 10",
        "only `to` and `price` are read: ask for those fields; some objects only: `price`",
        true,
    );
    check(
        "a 400 0 0 1\n b 400 0 0 1\n c 400 0 0 1\n d 400 0 0 1\n e 400 0 0 1\n f 400 0 0 1\n g 0 0 400 1\n h 0 0 400 1",
        "2 of 8 fields are never read: do without `g` and `h`",
        true,
    );
    // Of a set, say, whose elements are told apart by their `id`.
    check(
        "a 400 0 0 1\n b 400 0 0 1\n c 400 0 0 1\n d 400 0 0 1\n e 400 0 0 1\n f 400 0 0 1\n g 0 0 400 1\n id 0 400 0 1",
        "2 of 8 fields are never used: do without `g` and `id`; only logged, compared or printed: `id`",
        true,
    );
    check(
        "id 0 90 0 20\n name 0 3 10 20",
        "1 of 2 fields are never used: do without `id`; only logged, compared or printed: `id` (so far: 13 of 385 samples); \
         watchpoints do not see reads after the end of a request",
        true,
    );
    check(
        "to 0 400 0 20\n from 0 400 0 20",
        "it is only logged, compared or printed: leave the call out, or ask for what that needs",
        true,
    );
    check(
        "to 0 0 400 20",
        "nothing of it is read: leave the call out, or ask only how many there are",
        true,
    );
    check(
        "to 400 0 0 20\n nullable 0 0 400 20",
        "every field of it that is sent is read",
        false,
    );
    check(
        "to 0 0 40 20\n from 40 0 0 20",
        "nothing has read `to` so far, in 40 objects, which are too few to be sure",
        false,
    );
    check(
        "to 0 0 90 20\n from 90 0 0 20",
        "only `from` is read: ask for that field (so far: 90 of 385 samples)",
        true,
    );
    check(
        "to 0 0 0 20",
        "the later use of 5 objects is not known: they outlived their requests, were copied, or may have been read unseen",
        false,
    );
}

#[test]
fn what_was_read_in_censored_objects_is_needed() {
    let check = |drawn: &str, kind: Use, expected: &str| {
        let row = row(drawn);
        let last = row.fields.last().expect("there are fields");
        assert_eq!(
            (last.kind, row.advice.text.as_str()),
            (kind, expected),
            "{drawn}"
        );
    };
    let both = "only `id` and `seat` are read: ask for those fields";
    let kept = "only in objects that are censored: `seat`";
    let (id, from) = ("id 400 0 0 20", "from 0 0 400 20");
    for seat in ["seat 0 0 400 20 5", "seat 0 9 391 20 1"] {
        check(
            &format!("{id}\n {from}\n {seat}"),
            Use::Censored,
            &format!("{both}; {kept}"),
        );
    }
    let every = format!("every field of it that is sent is read; {kept}");
    check(&format!("{id}\n seat 0 0 400 20 5"), Use::Censored, &every);
    // Of few samples nobody says that nothing has read it so far, nor of a null that it is not asked for.
    check("id 40 0 0 20\n seat 0 0 40 20 5", Use::Censored, &every);
    let alone = format!("only `nullSeat` is read: ask for that field; {kept}")
        .replace("`seat`", "`nullSeat`");
    check(
        &format!("{from}\n nullSeat 0 0 400 20 5"),
        Use::Censored,
        &alone,
    );
    check(
        "seat 0 0 0 20 3",
        Use::Censored,
        "the later use of 5 objects is not known: they outlived their requests, were copied, or may have been read unseen; \
         read in some of them: `seat`",
    );
    let some = format!("{both}; some objects only: `seat`");
    check(
        &format!("{id}\n {from}\n seat 100 0 300 20 5"),
        Use::Sometimes,
        &some,
    );
}

#[test]
fn bytes_of_censored_objects_that_were_read_are_not_in_vain() {
    let row = row("id 15 0 0 20
                   seat 0 0 15 8 5
                   price 5 0 10 6 2
                   from 5 0 10 4 1");
    // Two objects in a response: of 20 objects 15 do not need a seat. Of the decided ones two in three need no price; two of five
    // censored ones did. Only one of them needed `from`, so of the others as many may have later as of the decided ones.
    let expected = 2.0 * (8.0 * 15.0 / 20.0 + 6.0 * (10.0 + 3.0) / 20.0 + 4.0 * 10.0 / 15.0);
    assert!(
        (row.wasted_bytes_per_response - expected).abs() < 1e-9,
        "{row:?}"
    );
    let seat = &row.fields[1];
    let decided = Share::of(0, 15);
    assert_eq!((seat.utilisation, seat.censored_used), (decided, 5));
}

#[test]
fn a_call_is_not_left_out_that_may_be_needed() {
    let check = |method: &str, by: &str, others: &str, drawn: &str, expected: &str| {
        let mut process = process(drawn);
        let context = &mut process.contexts[0];
        method.clone_into(&mut context.endpoint.method);
        by.clone_into(&mut context.by);
        if !others.is_empty() {
            let mut other = self::process(others).contexts.remove(0).classes.remove(0);
            "shop.Other".clone_into(&mut other.name);
            context.classes.push(other);
        }
        let rows = Report::new(&[process], 0).transfers;
        let row = rows.iter().find(|row| row.class == "shop.T");
        let row = row.expect("its class is there");
        assert_eq!(row.advice.text, expected, "{method} {by} {others}");
    };
    let (never, printed) = ("to 0 0 400 20", "to 0 400 0 20");
    let spare = "nothing of it is read: leave the call out, or ask only how many there are";
    let needed = "nothing of it is read, but other objects of the response are: ask for those alone, or of it only how \
                  many there are";
    let needed_entities = &format!("{needed}, unless the program changes such entities");
    let unless = "nothing of it is read: leave the call out, or ask only how many there are, unless it is made to \
                  change something";
    check("GET", "RestTemplate", "", never, spare);
    check("GET", "RestTemplate", "a 0 0 400 1", never, spare);
    check("GET", "RestTemplate", "null 0 0 400 1", never, spare);
    check("GET", "RestTemplate", "a 4 0 396 1", never, needed);
    check("GET", "RestTemplate", "a 400 0 0 1", never, needed);
    // Of these it is not known yet.
    check("GET", "RestTemplate", "a 0 0 4 1", never, needed);
    check("GET", "RestTemplate", "a 0 0 400 1 5", never, needed);
    check("POST", "RestTemplate", "", never, unless);
    check("", "gRPC", "", never, unless);
    check("findOneAndUpdate", "MongoDB", "", never, unless);
    check("find", "MongoDB", "", never, spare);
    check("SELECT", "JdbcTemplate", "", never, spare);
    check("DELETE", "JdbcTemplate", "", never, unless);
    check("msearch", "Elasticsearch", "", never, spare);
    check("SELECT", "Hibernate", "", never, unless);
    check("SELECT", "Hibernate", "a 400 0 0 1", never, needed_entities);
    check(
        "GET",
        "RestTemplate",
        "a 400 0 0 1",
        printed,
        "it is only logged, compared or printed: ask for what that needs",
    );
    // Of Hibernate, each table has a context of its own, by whatever call they are loaded.
    for (by, line, expected) in [
        ("Hibernate", 3, needed_entities.as_str()),
        ("Hibernate", 4, unless),
        ("JdbcTemplate", 3, spare),
    ] {
        let mut process = process(never);
        let mut other = self::process("a 400 0 0 1").contexts.remove(0);
        other.number = 2;
        other.call_path[0].line = line;
        process.contexts.push(other);
        for context in &mut process.contexts {
            by.clone_into(&mut context.by);
        }
        let rows = Report::new(&[process], 0).transfers;
        let row = rows.iter().find(|row| row.context == 1);
        let row = row.expect("its context is there");
        assert_eq!(row.advice.text, expected, "{by} {line}");
    }
    check(
        "PUT",
        "RestTemplate",
        "",
        printed,
        "it is only logged, compared or printed: ask for what that needs, or leave the call out, unless it is made to \
         change something",
    );
}

#[test]
fn what_changes_entities_needs_them_whole() {
    let check = |by: &str, drawn: &str, expected: &str| {
        let mut process = process(drawn);
        by.clone_into(&mut process.contexts[0].by);
        let row = Report::new(&[process], 0).transfers.remove(0);
        assert_eq!(row.advice.text, expected, "{by}: {drawn}");
    };
    let drawn = "to 400 0 0 20\n seat 100 0 300 10\n from 0 0 400 20";
    let fields = "only `to` and `seat` are read: ask for those fields";
    let some = "; some objects only: `seat`";
    let unless = ", unless the program changes such entities";
    check("JdbcTemplate", drawn, &format!("{fields}{some}"));
    check("Hibernate", drawn, &format!("{fields}{unless}{some}"));
    check(
        "Hibernate",
        "to 400 0 0 20",
        "every field of it that is sent is read",
    );
}

#[test]
fn what_only_refers_to_other_entities_is_no_field_to_ask_for() {
    let check = |by: &str, drawn: &str, referring: &[&str], expected: &str| {
        let mut process = process(drawn);
        by.clone_into(&mut process.contexts[0].by);
        for field in &mut process.contexts[0].classes[0].fields {
            field.refers = referring.contains(&field.name.as_str());
        }
        let row = Report::new(&[process], 0).transfers.remove(0);
        assert_eq!(row.advice.text, expected, "{by}: {drawn}");
    };
    let unless = ", unless the program changes such entities";
    let one = "state 0 0 400 20\n lines 400 0 0 0";
    let alone = "only `lines` is read: ask for what it refers to instead, or only for ids";
    check("Hibernate", one, &["lines"], &format!("{alone}{unless}"));
    let field = "only `lines` is read: ask for that field";
    check("Hibernate", one, &[], &format!("{field}{unless}"));
    check("RestTemplate", one, &["lines"], field);
    let two = "state 0 0 400 20\n buyer 400 0 0 0\n lines 400 0 0 0";
    let alone =
        "only `buyer` and `lines` are read: ask for what they refer to instead, or only for ids";
    check(
        "Hibernate",
        two,
        &["buyer", "lines"],
        &format!("{alone}{unless}"),
    );
    let fields = "only `buyer` and `lines` are read: ask for those fields";
    check("Hibernate", two, &["lines"], &format!("{fields}{unless}"));
}

#[test]
fn what_is_embedded_in_an_entity_is_not_asked_for_whether_it_is_there() {
    let check = |drawn: &str, others: &str, expected: &str| {
        let mut process = process(drawn);
        let context = &mut process.contexts[0];
        "Hibernate".clone_into(&mut context.by);
        context.classes[0].embedded = true;
        let mut entity = self::process(others).contexts.remove(0).classes.remove(0);
        "shop.Entity".clone_into(&mut entity.name);
        context.classes.push(entity);
        let rows = Report::new(&[process], 0).transfers;
        let row = rows.iter().find(|row| row.class == "shop.T");
        assert_eq!(row.expect("its class is there").advice.text, expected);
    };
    let without = "nothing of it is read: ask for the entities without it, unless the program changes such entities";
    check("city 0 0 400 20", "name 400 0 0 20", without);
    check("city 0 0 400 20", "name 0 0 400 20", without);
    check(
        "city 0 400 0 20",
        "name 0 0 400 20",
        "it is only logged, compared or printed: ask for what that needs, unless the program changes such entities",
    );
    check(
        "city 400 0 0 20\n street 0 0 400 20",
        "name 400 0 0 20",
        "only `city` is read: ask for that field, unless the program changes such entities",
    );
}

#[test]
fn that_there_is_an_object_may_be_all_that_is_asked() {
    for (objects, there) in [(50, "whether it is there"), (51, "how many there are")] {
        let mut process = process("to 0 0 400 20");
        process.contexts[0].classes[0].objects = objects;
        let row = Report::new(&[process], 0).transfers.remove(0);
        let expected = format!("nothing of it is read: leave the call out, or ask only {there}");
        assert_eq!(row.advice.text, expected);
    }
}

#[test]
fn where_a_response_has_many_objects_one_may_be_looked_for_in_each() {
    let check = |objects: u64, drawn: &str, expected: &str| {
        let mut process = process(drawn);
        process.contexts[0].classes[0].objects = 50 * objects;
        let row = Report::new(&[process], 0).transfers.remove(0);
        assert_eq!(row.advice.text, expected, "{objects}: {drawn}");
        assert!(row.advice.is_needed, "{objects}: {drawn}");
    };
    // Of 0 of 385, 0.99 % may be read: of 101 objects hardly one in each response.
    let all_the_same = |objects: &str| {
        format!(
            "(up to {objects} objects of a response may be read all the same, as one is that is looked for)"
        )
    };
    check(
        101,
        "a 0 0 385 8",
        "nothing of it is read: leave the call out, or ask only how many there are",
    );
    check(
        102,
        "a 0 0 385 8",
        &format!(
            "hardly any of these objects is read: ask for those that are {}",
            all_the_same("1 of the 102")
        ),
    );
    check(
        2000,
        "id 385 0 0 8
         name 0 0 385 8",
        &format!(
            "of most objects only `id` is read: ask for the rest where it is needed {}",
            all_the_same("19 of the 2000")
        ),
    );
    check(
        2000,
        "id 0 385 0 8",
        &format!(
            "hardly any of these objects is more than logged, compared or printed: ask for those that are {}",
            all_the_same("19 of the 2000")
        ),
    );
}

/// Where those are not few, it is not certain either that nothing reads the other fields.
#[test]
fn of_most_objects_is_not_read_what_only_censored_ones_used() {
    let check = |censored: u64, begins: &str, later: &str, is_needed: bool| {
        let mut process = process("id 385 0 0 8\n seat 0 0 385 8 1\n name 0 0 385 8");
        let class = &mut process.contexts[0].classes[0];
        class.objects = 2000 * class.responses;
        class.censored = censored;
        for field in &mut class.fields {
            field.censored = censored;
            field.censored_used = field.censored_used.min(1) * censored;
        }
        let advice = Report::new(&[process], 0).transfers.remove(0).advice;
        let text = advice.text;
        assert!(text.starts_with(begins), "{text}");
        let censored = "; only in objects that are censored: `seat`";
        assert!(text.contains(censored), "{text}");
        let is_told = text.contains("the later use of ");
        assert_eq!(
            (is_told, text.contains(later), advice.is_needed),
            (!later.is_empty(), true, is_needed),
            "{text}"
        );
    };
    let of_most = "of most objects only `id` is read: ";
    check(40, of_most, "", true);
    check(
        300,
        of_most,
        "; the later use of 300 of 685 objects is not known: ",
        true,
    );
    let first = "the later use of 4000 of 4385 objects is not known: ";
    check(4000, first, &format!("; of the others: {of_most}"), false);
}

#[test]
fn bytes_in_vain_are_those_of_objects_in_which_nothing_read_them() {
    let row = row("to 400 0 0 20
                   price 100 0 300 8
                   nullable 0 0 400 16
                   from 0 0 400 30");
    assert_eq!(row.utilisation, Some(500.0 / 1600.0));
    // Two objects in a response, ten responses a second.
    assert!(
        (row.bytes_per_response - 2.0 * 58.0).abs() < 1e-9,
        "{row:?}"
    );
    assert!(
        (row.wasted_bytes_per_response - 2.0 * (6.0 + 30.0)).abs() < 1e-9,
        "{row:?}"
    );
    assert!(
        (row.wasted_bytes_per_second - 10.0 * 2.0 * 36.0).abs() < 1e-9,
        "{row:?}"
    );
    assert_eq!(row.call_path, ["shop.A.a(A.java:3)", "shop.B.b"]);
    assert_eq!(row.endpoint, "GET http://t/{id}");
}

#[test]
fn an_object_stands_for_all_of_its_response() {
    // 50 responses of one object with 1,000 bytes that are read, 50 of 99 objects with 1 byte that is not, both with a
    // name of 10. The process is one of equal lengths but for that.
    let mut mixed = process("text 50 0 50 510");
    let context = &mut mixed.contexts[0];
    context.looked_into = 100;
    let class = &mut context.classes[0];
    (class.objects, class.watched, class.watched_weight) = (5000, 100, 5000);
    class.fields[0].weighted = Some(Weighted {
        used: 50,
        printed: 0,
        unused: 50 * 99,
        squares: 50 * (1 + 99 * 99),
        bytes: 50 * 1010 + 50 * 99 * 11,
        bytes_decided: 50 * 1010 + 50 * 99 * 11,
        bytes_in_vain: 50 * 99 * 11,
    });
    let rows = Report::new(&[mixed], 0).transfers;
    let row = &rows[0];
    assert_eq!(
        (row.utilisation, row.objects_per_response),
        (Some(0.01), 50.0)
    );
    let near = |one: f64, other: f64| (one - other).abs() < 1e-9 * other;
    assert!(
        near(row.bytes_per_response, (1010.0 + 99.0 * 11.0) / 2.0),
        "{row:?}"
    );
    assert!(
        near(row.wasted_bytes_per_response, 99.0 * 11.0 / 2.0),
        "{row:?}"
    );
    let field = &row.fields[0];
    let share = field.utilisation.expect("objects are decided");
    assert!(
        share.low < 0.01 && 0.01 < share.high && share.high < 0.1,
        "{share:?}"
    );
    // As if there were the 50 long ones and one more.
    assert!(
        50.0 < field.effective_samples && field.effective_samples < 52.0,
        "{field:?}"
    );
    assert_eq!(
        (field.used, field.unused, field.printed_share),
        (50, 50, Some(0.0))
    );
}

#[test]
fn responses_of_equal_length_give_what_unweighted_ones_do() {
    let drawn = "to 400 0 0 20
                 price 100 30 270 8
                 from 0 0 400 30";
    let unweighted = row(drawn);
    let mut process = process(drawn);
    let class = &mut process.contexts[0].classes[0];
    class.watched_weight = 7 * class.watched;
    for field in &mut class.fields {
        let size = field.bytes / class.watched;
        field.weighted = Some(Weighted {
            used: 7 * field.used,
            printed: 7 * field.printed,
            unused: 7 * field.unused,
            squares: 49 * field.decided(),
            bytes: 7 * field.bytes,
            bytes_decided: 7 * size * field.decided(),
            bytes_in_vain: 7 * size * (field.printed + field.unused),
        });
    }
    let weighted = Report::new(&[process], 0).transfers;
    assert_eq!(format!("{:?}", weighted[0]), format!("{unweighted:?}"));
}

#[test]
fn samples_of_different_weights_suffice_later() {
    let mut mixed = process("to 200 0 200 20\n from 0 0 400 20");
    let class = &mut mixed.contexts[0].classes[0];
    class.watched_weight = 200 * 100 + 5;
    for field in &mut class.fields {
        field.weighted = Some(Weighted {
            used: field.used,
            printed: 0,
            unused: 200 * 100 - field.used,
            squares: 200 * (1 + 99 * 99),
            bytes: 100_000,
            bytes_decided: 0,
            bytes_in_vain: 0,
        });
    }
    assert_eq!(
        Report::new(&[mixed], 0).transfers[0].advice.text,
        "only `to` is read: ask for that field; some objects only: `to` (so far: 204 of 385 samples)"
    );
}

#[test]
fn where_one_field_of_each_object_is_watched_each_has_samples_of_its_own() {
    let row = row("to 380 0 20 20
                   from 0 0 400 30
                   seat 0 0 90 8");
    assert_eq!((row.decided, row.utilisation), (890, Some(380.0 / 890.0)));
    let shares: Vec<Option<f64>> = (row.fields.iter())
        .map(|field| field.utilisation.map(|share| share.share))
        .collect();
    assert_eq!(shares, [Some(0.95), Some(0.0), Some(0.0)]);
    assert_eq!(
        row.advice.text,
        "only `to` is read: ask for that field; some objects only: `to` (so far: 90 of 385 samples); \
         watchpoints do not see reads after the end of a request"
    );
    let unknown = self::row("to 400 0 0 20\n from 0 0 0 30");
    assert_eq!(unknown.fields[1].kind, Use::NotYet);
}

#[test]
fn the_most_bytes_in_vain_come_first() {
    let used = process("to 400 0 0 20");
    let some = process("to 300 0 100 20");
    let none = process("to 0 0 400 20");
    let report = Report::new(&[used, some, none], 2);
    let shares: Vec<Option<f64>> = report.transfers.iter().map(|row| row.utilisation).collect();
    assert_eq!(shares, [Some(0.0), Some(0.75)]);
    assert_eq!(
        (report.rows, report.processes, report.responses),
        (3, 3, 300)
    );
    assert_eq!(report.transfers[1].rank, 2);
}

#[test]
fn it_is_told_how_agents_see_reads() {
    let mask = process("to 400 0 0 20\n from 0 0 400 20");
    let watchpoints = process("to 400 0 0 20\n from 0 0 390 20");
    let report = Report::new(&[mask.clone(), watchpoints, mask], 0);
    let told: Vec<(&str, usize)> = (report.backends.iter())
        .map(|(backend, count)| (backend.as_str(), *count))
        .collect();
    assert_eq!(told, [("field-mask", 2), ("watchpoints", 1)]);
    for row in &report.transfers {
        let is_told = row.advice.text.ends_with("after the end of a request");
        assert_eq!(is_told, row.backend == "watchpoints", "{row:?}");
    }
    let all_read = row("to 400 0 0 20\n from 390 0 0 20");
    assert_eq!(all_read.backend, "watchpoints");
    assert_eq!(
        all_read.advice.text,
        "every field of it that is sent is read"
    );
}

#[test]
fn what_agents_left_out_is_added_up() {
    let mut process = process("to 400 0 0 20");
    process.head.failures = 2;
    process.head.not_watched.reads_unseen = 3;
    process.head.not_watched.registers_busy = 7;
    let mut without = process.contexts[0].clone();
    without.classes.clear();
    let mut passed_over = without.clone();
    (passed_over.responses, passed_over.looked_into) = (7, 0);
    process.contexts.extend([without, passed_over]);
    let report = Report::new(&[process.clone(), process], 0);
    let expected = LeftOut {
        responses_without_objects: 200,
        responses_not_looked_into: 14,
        failures: 4,
        reads_unseen: 6,
        registers_busy: 14,
        ..LeftOut::default()
    };
    assert_eq!(report.left_out, expected);
}

#[test]
fn estimated_counts_say_how_far_they_may_be_off() {
    let mut shop = process("a 50 0 0 10");
    assert_eq!(
        Report::new(&[shop.clone()], 0).transfers[0].responses_within,
        0
    );
    shop.contexts[0].standard_error = 10.0;
    assert_eq!(Report::new(&[shop], 0).transfers[0].responses_within, 20);
}

#[test]
fn lengths_that_no_sample_has_widen_the_interval() {
    // 400 responses of one object, which does not use it, were watched. Of those counted, 4,000 have one and `long` 1,000.
    let lengths = |long: u64| {
        let length = |least, responses, decided| Length {
            least,
            responses,
            objects: responses * least,
            squares: responses * least * least,
            decided,
            decided_weight: decided * least,
        };
        let mut process = process("to 0 0 400 20\n from 200 0 200 20");
        let class = &mut process.contexts[0].classes[0];
        class.lengths = vec![length(1, 4000, 400), length(1000, long, 0)];
        Report::new(&[process], 0).transfers.remove(0)
    };
    let shares = |row: &TransferRow| -> Vec<Share> {
        (row.fields.iter())
            .filter_map(|field| field.utilisation)
            .collect()
    };
    let same = lengths(0);
    let plain = row("to 0 0 400 20\n from 200 0 200 20");
    assert_eq!(format!("{same:?}"), format!("{plain:?}"));
    // Of the objects half are in the four long ones: by chance there may be more.
    let other = lengths(4);
    let [to, from] = shares(&other)[..] else {
        panic!("two fields are known: {other:?}")
    };
    assert_eq!((to.share, to.low), (0.0, 0.0));
    assert!(0.7 < to.high && to.high < 0.8, "{to:?}");
    assert_eq!((from.share, from.low, from.high), (0.5, 0.0, 1.0));
    assert_eq!(
        (other.fields[0].kind, other.advice.text.as_str()),
        (
            Use::NotYet,
            "nothing has read `to` so far, in 400 objects, which are too few to be sure; some objects only: `from` \
             (50 % of all objects are in longer or shorter responses than those looked at)"
        )
    );
}

#[test]
fn samples_of_other_lengths_than_arrive_widen_the_interval_though_both_are_counted_together() {
    // 400 responses of 64 objects were watched, which do not use it; then came `later` of 127.
    let row = |later: u64| {
        let mut process = process("to 0 0 400 20");
        process.contexts[0].classes[0].lengths = vec![Length {
            least: 64,
            responses: 400 + later,
            objects: 400 * 64 + later * 127,
            squares: 400 * 64 * 64 + later * 127 * 127,
            decided: 400,
            decided_weight: 400 * 64,
        }];
        Report::new(&[process], 0).transfers.remove(0)
    };
    let share = |row: &TransferRow| row.fields[0].utilisation.expect("objects are decided");
    let (same, other) = (row(0), row(1700));
    assert!(share(&same).high < 0.02, "{same:?}");
    assert_eq!(same.fields[0].kind, Use::Never);
    // 1,700 * 127 of them.
    assert!((share(&other).high - 0.894).abs() < 0.02, "{other:?}");
    assert_eq!(other.fields[0].kind, Use::NotYet);
}

#[test]
fn where_samples_of_each_length_say_the_same_their_mixture_hardly_counts() {
    // Half of the samples are of long responses, but nine of ten objects.
    let mut process = process("to 0 0 400 20");
    let length = |least, objects, decided| Length {
        least,
        responses: objects / least,
        objects,
        squares: objects * least,
        decided,
        decided_weight: decided * least,
    };
    process.contexts[0].classes[0].lengths = vec![length(1, 1000, 360), length(9, 9000, 40)];
    let row = Report::new(&[process], 0).transfers.remove(0);
    let share = row.fields[0].utilisation.expect("objects are decided");
    assert!(0.01 < share.high && share.high < 0.05, "{share:?}");
    assert_eq!(row.fields[0].kind, Use::Never);
}
