//! Critical paths over spans, drawn: a trace, and the path expected. Where tools differ, the test's
//! name says what slowpath does and its comment why.

mod support;

use support::{line, path_as_text, path_by_span};

fn check(drawing: &str, expected: &str) {
    let (line, _) = line(drawing);
    assert_eq!(path_as_text(&line), expected, "{drawing}");
}

#[test]
fn a_span_alone_is_its_own_path() {
    check("A a[x] 0-100", "A 0-100");
}

#[test]
fn of_parallel_children_the_one_that_ends_last_is_on_the_path() {
    check(
        "
        A a[x] 0-100
          B b[x] 10-60
          C c[x] 20-90",
        "A 0-20, C 20-90, A 90-100",
    );
}

/// What the parent did before C began does not depend on B, which still ran then.
#[test]
fn a_sibling_that_still_runs_when_the_last_one_begins_is_not_waited_for() {
    check(
        "
        A a[x] 0-100
          B b[x] 10-60
          C c[x] 40-90",
        "A 0-40, C 40-90, A 90-100",
    );
}

#[test]
fn of_parallel_children_that_end_together_the_longest_is_on_the_path() {
    check(
        "
        A a[x] 0-100
          B b[x] 10-90
          C c[x] 80-90",
        "A 0-10, B 10-90, A 90-100",
    );
}

/// Jaeger's own algorithm leaves out a sibling that ends in the very nanosecond in which the next
/// begins (jaeger issue 9173), CRISP's where more than two of them meet.
#[test]
fn siblings_back_to_back_are_all_on_the_path() {
    check(
        "
        A a[x] 0-60
          B b[x] 0-20
          C c[x] 20-40
          D d[x] 40-40
          E e[x] 40-60",
        "B 0-20, C 20-40, E 40-60",
    );
}

/// Two tasks run at the same time; C is called by the task of B, 10 after B. By times alone F would
/// seem to be what C waited for (jaeger-ui issue 2371: nothing else can be known then).
#[test]
fn of_asynchronous_siblings_the_one_that_a_span_names_is_before_it() {
    check(
        "
        A a[x] 0-500
          B b[x] 0-100
          F f[x] 0-200
          C c[x] 200-500",
        "F 0-200, C 200-500",
    );
    check(
        "
        A a[x] 0-500
          B b[x] 0-100
          F f[x] 0-200
          C c[x] 200-500 after=B",
        "B 0-100, A 100-200, C 200-500",
    );
}

#[test]
fn a_named_sibling_that_had_not_ended_cannot_be_before() {
    check(
        "
        A a[x] 0-100
          B b[x] 0-20
          C c[x] 0-60
          D d[x] 50-100 after=C",
        "B 0-20, A 20-50, D 50-100",
    );
}

#[test]
fn nobody_waits_for_a_span_that_only_follows() {
    check(
        "
        A a[x] 0-100
          B b[x] 10-90 follows
            C c[x] 20-80",
        "A 0-100",
    );
}

#[test]
fn a_producer_does_not_wait_for_the_consumer() {
    check(
        "
        A a[x] 0-100 producer
          B b[x] 10-90 consumer",
        "A 0-100",
    );
}

#[test]
fn nobody_waits_for_a_child_that_begins_after_its_parent_ended() {
    let drawing = "
        A a[x] 0-100
          B b[x] 110-160
            C c[x] 120-150
          D d[x] 60-90";
    check(drawing, "A 0-60, D 60-90, A 90-100");
    let (_, mended) = line(drawing);
    assert_eq!(mended.outside, 1);
}

#[test]
fn a_child_that_outlasts_its_parent_counts_until_the_parent_ends() {
    check(
        "
        A a[x] 0-100
          B b[x] 10-70
            C c[x] 20-120",
        "A 0-10, B 10-20, C 20-70, A 70-100",
    );
}

/// Jaeger's correction: half of the time that is left before, half after.
#[test]
fn a_server_whose_clock_is_hours_off_is_moved_into_its_client() {
    let drawing = "
        A a[x] 1000-1100
          B a[call] 1010-1090 client
            C b[serve] 5855000000000-5855000000040 server
              D b[query] 5855000000010-5855000000020";
    check(
        drawing,
        "A 1000-1010, B 1010-1030, C 1030-1040, D 1040-1050, C 1050-1070, B 1070-1090, A 1090-1100",
    );
    let (_, mended) = line(drawing);
    assert_eq!(mended.skewed, 1);
}

#[test]
fn a_server_that_goes_on_after_its_client_gave_up_stays_where_it_is() {
    check(
        "
        A a[call] 0-100 client
          B b[serve] 10-500 server",
        "A 0-10, B 10-100",
    );
}

/// The times of one span are of one clock and stay as long as they are; where two spans meet, two
/// clocks meet. As CRISP has it (its cases 10 and 19), without counting the overlap twice.
#[test]
fn siblings_that_overlap_by_less_than_clocks_agree_follow_each_other() {
    check(
        "
        A a[x] 0-1000
          B b[x] 10-210
          C c[x] 209-309
          D d[x] 308-608",
        "A 0-8, B 8-208, C 208-308, D 308-608, A 608-1000",
    );
}

#[test]
fn siblings_that_overlap_by_a_hundredth_of_their_parent_run_in_parallel() {
    check(
        "
        A a[x] 0-1000
          B b[x] 10-210
          C c[x] 200-300",
        "A 0-200, C 200-300, A 300-1000",
    );
}

#[test]
fn siblings_are_parallel_where_a_third_one_begins_in_their_small_overlap() {
    let (line, _) = line(
        "
        A a[x] 0-1000
          B b[x] 10-210
          C c[x] 209-309
          D d[x] 210-250",
    );
    let expected = [("A", 900), ("C", 100)].map(|(span, time)| (span.to_owned(), time));
    assert_eq!(path_by_span(&line), expected.into());
}

/// Each pair overlaps a little: one after the other as CRISP has it would take longer than the parent.
#[test]
fn siblings_moved_apart_never_leave_their_parent() {
    check(
        "
        A a[x] 0-100000
          B b[x] 0-30000
          C c[x] 29100-60000
          D d[x] 59100-100000",
        "B 0-28200, C 28200-59100, D 59100-100000",
    );
}
