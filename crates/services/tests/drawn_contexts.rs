//! The calling-context tree, drawn: traces, and what each path of calls took.

mod support;

use slowpath_model::Nanoseconds;
use slowpath_read_spans::Span;
use slowpath_services::{Limits, Mark, Order, PathRow, Report, Served};
use support::{ALL, Way, name, report_of, spans, survey_of};

/// One line per path, sorted: path, count, failed, inclusive, exclusive, critical, drag, slack.
fn lines(report: &Report) -> String {
    let line = |row: &PathRow| {
        let slack = row
            .slack_mean
            .map_or("-".into(), |slack| slack.get().to_string());
        let numbers = [row.inclusive, row.exclusive, row.critical, row.drag];
        let [inclusive, exclusive, critical, drag] = numbers.map(Nanoseconds::get);
        format!(
            "{}: {} {} {inclusive} {exclusive} {critical} {drag} {slack}\n",
            row.path.join(" "),
            row.count,
            row.errors,
        )
    };
    let mut lines: Vec<String> = report.paths.iter().map(line).collect();
    lines.sort();
    lines.concat()
}

fn check(traces: &[&str], expected: &[&str]) {
    let all: Vec<_> = (traces.iter().zip(1..))
        .flat_map(|(drawing, number)| spans(number, drawing))
        .collect();
    let report = report_of(&all, &Way::default(), Order::Distance);
    assert_eq!(lines(&report).lines().collect::<Vec<_>>(), expected);
}

#[test]
fn spans_of_one_path_add_up_over_traces() {
    let shop = "
        A shop[buy] 0-100
          B db[query] 10-40 failed
          C db[query] 50-80";
    check(
        &[shop, shop],
        &[
            "shop[buy] db[query]: 4 2 120 120 120 120 0",
            "shop[buy]: 2 0 200 80 80 200 0",
        ],
    );
}

#[test]
fn an_operation_called_from_two_places_is_two_contexts() {
    check(
        &["
        A shop[buy] 0-100
          B cart[load] 0-50
            C db[query] 10-40
          D db[query] 60-100"],
        &[
            "shop[buy] cart[load] db[query]: 1 0 30 30 30 30 0",
            "shop[buy] cart[load]: 1 0 50 20 20 50 0",
            "shop[buy] db[query]: 1 0 40 40 40 40 0",
            "shop[buy]: 1 0 100 10 10 100 0",
        ],
    );
}

/// The request gains 20 without the slow call, as the fast one then is what it waits for.
#[test]
fn parallel_calls_have_drag_and_slack_up_to_each_other() {
    check(
        &["
        A shop[buy] 0-100
          B slow[call] 10-80
          C fast[call] 10-60"],
        &[
            "shop[buy] fast[call]: 1 0 50 50 0 0 20",
            "shop[buy] slow[call]: 1 0 70 70 70 20 0",
            "shop[buy]: 1 0 100 30 30 100 0",
        ],
    );
}

/// Each alone has little drag; as one context they have much.
#[test]
fn parallel_calls_of_one_context_vanish_together() {
    check(
        &["
        A shop[buy] 0-100
          B db[query] 10-80
          C db[query] 10-70"],
        &[
            "shop[buy] db[query]: 2 0 130 130 70 70 5",
            "shop[buy]: 1 0 100 30 30 100 0",
        ],
    );
}

#[test]
fn detached_work_has_times_but_is_nobodys_wait() {
    check(
        &["
        A shop[buy] 0-100
          B mail[send] 10-500 follows
            C smtp[send] 20-490"],
        &[
            "shop[buy] mail[send] smtp[send]: 1 0 470 470 0 0 -",
            "shop[buy] mail[send]: 1 0 490 20 0 0 -",
            "shop[buy]: 1 0 100 100 100 100 0",
        ],
    );
}

/// Inclusive time is what a span lasted; exclusive time is where none of its children ran.
#[test]
fn a_child_that_outlasts_its_parent_keeps_its_own_times() {
    check(
        &["
        A shop[buy] 0-100
          B log[write] 60-200
            C disk[sync] 150-190"],
        &[
            "shop[buy] log[write] disk[sync]: 1 0 40 40 0 0 -",
            "shop[buy] log[write]: 1 0 140 100 40 40 0",
            "shop[buy]: 1 0 100 60 60 100 0",
        ],
    );
}

#[test]
fn chosen_operations_become_the_requests() {
    let drawn = spans(
        1,
        "
        A gate[any] 0-1000
          B shop[buy] 100-200
            C shop[buy] 110-160
              D db[query] 120-130
          E shop[look] 300-400",
    );
    let is_buy = |span: &Span| (&*span.service, &*span.operation) == ("shop", "buy");
    let way = Way {
        may_be_request: &is_buy,
        ..Way::default()
    };
    let report = report_of(&drawn, &way, Order::Distance);
    assert_eq!((report.requests, report.latency), (1, Nanoseconds(100)));
    assert_eq!(
        lines(&report).lines().collect::<Vec<_>>(),
        [
            "shop[buy] shop[buy] db[query]: 1 0 10 10 10 10 0",
            "shop[buy] shop[buy]: 1 0 50 40 40 50 0",
            "shop[buy]: 1 0 100 50 50 100 0",
        ]
    );
}

#[test]
fn marks_are_found_again_in_the_contexts_of_their_spans() {
    let drawn: Vec<Span> = (1..=40)
        .flat_map(|trace| {
            spans(
                trace,
                "
        A shop[buy] 0-100
          B log[write] 10-20
          C log[write] 30-40
            D disk[sync] 32-34",
            )
        })
        .collect();
    // What B and D are marked with differs from trace to trace; A and C have no mark.
    let mark = |span: &Span| match name(span.span).as_str() {
        "B" => Mark::new(7 + (span.trace.low % 2) as u32),
        "D" => Mark::new(1 << 31),
        _ => Mark::NONE,
    };
    for (jobs, most_held) in [(1, 1000), (8, 1000), (1, 3), (8, 3)] {
        let way = Way {
            jobs,
            sorters: 2,
            most_held,
            mark: &mark,
            ..Way::default()
        };
        let summary = survey_of(&drawn, &way);
        let marks_of = |service: &str| -> Vec<u32> {
            let contexts = summary.tree.contexts().iter();
            let mut of_service =
                contexts.filter(|context| summary.names.text(context.service) == service);
            let marks = &of_service.next().expect("a context").totals.marks;
            marks.iter().map(Mark::number).collect()
        };
        assert_eq!(marks_of("shop"), Vec::<u32>::new(), "{jobs} {most_held}");
        assert_eq!(marks_of("log"), [7, 8], "{jobs} {most_held}");
        assert_eq!(marks_of("disk"), [1 << 31], "{jobs} {most_held}");
    }
}

#[test]
fn of_many_operations_the_rarest_count_as_one() {
    let all: Vec<_> = (["1", "2", "3", "3"].iter().zip(1..))
        .flat_map(|(item, trace)| {
            let drawing = format!(
                "
        A shop[buy] 0-100
          B shop[item-{item}] 10-40
            C db[query] 20-30
          D db[item-{item}] 50-60"
            );
            spans(trace, &drawing)
        })
        .collect();
    let of = |operations, jobs| {
        let way = Way {
            jobs,
            limits: Limits { operations, ..ALL },
            ..Way::default()
        };
        report_of(&all, &way, Order::Distance)
    };
    // An item-1 and an item-2 of shop and of db have one span each; those of item-3 have two, buy and query four.
    for (most, jobs) in [(4, 1), (4, 8)] {
        let report = of(most, jobs);
        assert_eq!((report.other_operations, report.requests), (4, 4));
        assert_eq!(
            lines(&report).lines().collect::<Vec<_>>(),
            [
                "shop[buy] db[(other)]: 2 0 20 20 20 20 0",
                "shop[buy] db[item-3]: 2 0 20 20 20 20 0",
                "shop[buy] shop[(other)] db[query]: 2 0 20 20 20 20 0",
                "shop[buy] shop[(other)]: 2 0 60 40 40 60 0",
                "shop[buy] shop[item-3] db[query]: 2 0 20 20 20 20 0",
                "shop[buy] shop[item-3]: 2 0 60 40 40 60 0",
                "shop[buy]: 4 0 400 240 240 400 0",
            ]
        );
    }
    // Of as many spans, those first by name.
    let five = of(5, 1);
    assert_eq!(five.other_operations, 3);
    assert!(lines(&five).contains("db[item-1]: 1 "));
    assert_eq!(of(8, 1).other_operations, 0);
}

#[test]
fn names_with_ids_of_one_service_leave_the_operations_of_others_apart() {
    let drawing = "
        A shop[buy] 0-100
          B cache[get-1] 10-20
            C db[query] 12-18
          D cache[get-2] 30-40
            E db[store] 32-38
          F cache[get-3] 50-60
            G db[query] 52-58";
    for jobs in [1, 8] {
        let way = Way {
            jobs,
            limits: Limits {
                operations_of_service: 2,
                operations: 5,
                ..ALL
            },
            ..Way::default()
        };
        let report = report_of(&spans(1, drawing), &way, Order::Distance);
        assert_eq!(report.other_operations, 1);
        let paths: Vec<_> = report.paths.iter().map(|row| row.path.join(" ")).collect();
        assert!(paths.contains(&"shop[buy] cache[get-2] db[store]".to_owned()));
        assert!(paths.contains(&"shop[buy] cache[(other)] db[query]".to_owned()));
    }
}

#[test]
fn of_many_services_the_rarest_count_as_one_with_their_operations_apart() {
    let drawing = "
        A shop[buy] 0-100
          B host1[load] 10-40
            C db[query] 20-30
          D host2[load] 50-60
          E host3[store] 70-80
          F db[query] 90-95
          G shop[pay] 96-98";
    let all = spans(1, drawing);
    for jobs in [1, 8] {
        let way = Way {
            jobs,
            limits: Limits { services: 3, ..ALL },
            ..Way::default()
        };
        let report = report_of(&all, &way, Order::Distance);
        assert_eq!((report.other_services, report.other_operations), (2, 0));
        assert_eq!(
            lines(&report).lines().collect::<Vec<_>>(),
            [
                "shop[buy] (other)[load]: 1 0 10 10 10 10 0",
                "shop[buy] (other)[store]: 1 0 10 10 10 10 0",
                "shop[buy] db[query]: 1 0 5 5 5 5 0",
                "shop[buy] host1[load] db[query]: 1 0 10 10 10 10 0",
                "shop[buy] host1[load]: 1 0 30 20 20 30 0",
                "shop[buy] shop[pay]: 1 0 2 2 2 2 0",
                "shop[buy]: 1 0 100 43 43 100 0",
            ]
        );
    }
}

#[test]
fn of_many_paths_the_first_calls_are_told_with_the_time_of_what_they_called() {
    let drawing = "
        A shop[buy] 0-100
          B cart[load] 10-50
            C db[query] 20-40
              D disk[read] 25-35
          E cart[load] 50-90
            F cache[get] 60-70";
    let all: Vec<_> = [1, 2].iter().flat_map(|&n| spans(n, drawing)).collect();
    let of = |contexts, jobs| {
        let way = Way {
            jobs,
            limits: Limits { contexts, ..ALL },
            ..Way::default()
        };
        report_of(&all, &way, Order::Distance)
    };
    for (contexts, jobs) in [(3, 1), (3, 8), (2, 1)] {
        let report = of(contexts, jobs);
        assert_eq!((report.most_calls, report.deeper_spans), (2, 6));
        assert_eq!(
            lines(&report).lines().collect::<Vec<_>>(),
            [
                "shop[buy] cart[load]: 4 0 160 160 160 160 0",
                "shop[buy]: 2 0 200 40 40 200 0",
            ]
        );
        assert_eq!(report.paths.last().map(|row| row.on_critical_path), Some(2));
    }
    let four = of(4, 1);
    assert_eq!((four.most_calls, four.deeper_spans), (3, 2));
    assert!(lines(&four).contains("db[query]: 2 0 40 40 40 40 0"));
    let none = of(0, 8);
    assert_eq!((none.most_calls, none.contexts), (1, 1));
    assert_eq!(of(5, 8).deeper_spans, 0);
}

#[test]
fn each_order_puts_its_own_measure_first() {
    let drawn = spans(
        1,
        "
        A shop[buy] 0-1000
          B slow[call] 0-400
            C db[query] 0-60
          D long[other] 0-390
          E last[call] 400-800",
    );
    let first = |order| {
        let report = report_of(&drawn, &Way::default(), order);
        let second = &report.paths[..2];
        second
            .iter()
            .map(|row| row.path.last().cloned().unwrap_or_default())
            .collect::<Vec<_>>()
    };
    assert_eq!(first(Order::Distance), ["shop[buy]", "last[call]"]);
    assert_eq!(first(Order::Exclusive), ["last[call]", "long[other]"]);
    assert_eq!(first(Order::Critical), ["last[call]", "slow[call]"]);
    assert_eq!(first(Order::Drag), ["shop[buy]", "last[call]"]);
}

/// One line per service, then per call: count, failed, mean, longest, critical time.
fn map_lines(report: &Report) -> Vec<String> {
    let told = |name: String, served: &Served| {
        let Served { count, errors, .. } = served;
        let times = [served.mean, served.max, served.critical].map(Nanoseconds::get);
        format!("{name}: {count} {errors} {times:?}")
    };
    let map = &report.map;
    let services = map.services.iter();
    let calls = map.calls.iter();
    services
        .map(|row| told(row.service.clone(), &row.served))
        .chain(calls.map(|row| told(format!("{} > {}", row.caller, row.callee), &row.served)))
        .collect()
}

#[test]
fn calls_within_a_service_are_no_calls_and_the_time_of_all_calls_is_the_requests() {
    let drawing = "
        A shop[buy] 0-100
          B shop[pay] 10-90
            C bank[book] 20-60 failed
              D bank[check] 30-50
            E bank[print] 65-75
          F db[store] 92-96";
    let all: Vec<_> = [1, 2].iter().flat_map(|&n| spans(n, drawing)).collect();
    for jobs in [1, 8] {
        let way = Way {
            jobs,
            ..Way::default()
        };
        let report = report_of(&all, &way, Order::Distance);
        assert_eq!(
            map_lines(&report),
            [
                "bank: 4 2 [25, 40, 100]",
                "shop: 2 0 [100, 100, 92]",
                "db: 2 0 [4, 4, 8]",
                "shop > bank: 4 2 [25, 40, 100]",
                "shop > db: 2 0 [4, 4, 8]",
            ]
        );
        let shares: f64 = (report.map.services.iter())
            .map(|row| row.served.critical_share)
            .sum();
        assert!((shares - 1.0).abs() < 1e-9, "{shares}");
    }
}
