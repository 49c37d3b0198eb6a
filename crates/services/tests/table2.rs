//! Table 2 of the paper on unnecessary data transfer (§5.1): from normalised latencies to the ranking.

mod support;

use slowpath_services::{Order, distance};
use support::{Way, report_of, spans};

/// Path, normalised exclusive and inclusive latency, distance, as printed.
const PRINTED: [(&str, f64, f64, f64); 5] = [
    (
        "TRAVEL-PLAN[getByQuickest]->TRAVEL-PLAN[POST]",
        1.00,
        0.95,
        1.38,
    ),
    ("TRAVEL-PLAN[POST]", 1.00, 0.88, 1.33),
    ("TRAVEL-PLAN[getByQuickest]", 0.01, 1.00, 1.00),
    (
        "TRAVEL-PLAN[getByQuickest]->TRAVEL-PLAN[POST]->ROUTE-PLAN[getQuickestRoutes]",
        0.01,
        0.32,
        0.32,
    ),
    (
        "TRAVEL-PLAN[POST]->ROUTE-PLAN[getQuickestRoutes]",
        0.01,
        0.32,
        0.32,
    ),
];

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[test]
fn the_distance_of_each_printed_row_follows_from_its_latencies() {
    for (path, exclusive, inclusive, printed) in PRINTED {
        assert_eq!(rounded(distance(inclusive, exclusive)), printed, "{path}");
    }
}

/// Spans with the proportions of the paper: POST alone overlaps two calls to ROUTE-PLAN, or its own
/// time would be smaller than that of the POST below getByQuickest.
#[test]
fn spans_in_the_papers_proportions_give_the_papers_rows_in_the_papers_order() {
    let through_quickest = "
        A  TRAVEL-PLAN[getByQuickest]  0-10000
          B  TRAVEL-PLAN[POST]  0-9500
            C  ROUTE-PLAN[getQuickestRoutes]  100-3320
              D  TRAVEL[query]  100-3257
          E  ORDER[list]  9500-9937";
    let direct = "
        A  TRAVEL-PLAN[POST]  0-8800
          B  ROUTE-PLAN[getQuickestRoutes]  0-1600
            C  TRAVEL[query]  0-1570
          D  ROUTE-PLAN[getQuickestRoutes]  900-2500
            E  TRAVEL[query]  900-2467";
    let all = [spans(1, through_quickest), spans(2, direct)].concat();
    let report = report_of(&all, &Way::default(), Order::Distance);
    let listed = report.paths.iter().filter(|row| {
        let last = row.path.last().map(String::as_str);
        !matches!(last, Some("TRAVEL[query]" | "ORDER[list]"))
    });
    let found: Vec<_> = listed
        .map(|row| {
            (
                row.path.join("->"),
                rounded(row.exclusive_normalized),
                rounded(row.inclusive_normalized),
                rounded(row.distance),
            )
        })
        .collect();
    let printed = PRINTED.map(|(path, exclusive, inclusive, distance)| {
        (path.to_owned(), exclusive, inclusive, distance)
    });
    assert_eq!(found, printed);
}
