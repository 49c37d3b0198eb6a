//! Which thread served which request when (Algorithm 1, attach and detach, parts of requests).

use crate::support::{Drawing, assert_shows};

/// Two threads that run all the time, on processors 0 and 1.
const TWO_RUN: &str = "
    0   0 switch - a
    1   0 switch - b
    0 900 switch a:S -
    1 900 switch b:S -";

fn servings(drawing: &str) -> String {
    Drawing::parse(&format!("{TWO_RUN}\n{drawing}"))
        .find(1, u64::MAX)
        .servings()
}

#[test]
fn who_starts_a_span_serves_it_to_its_end() {
    let found = servings(
        "0 100 start a 1.1
         0 150 start a 1.2
         0 200 end a 1.2
         1 250 start b 2.1
         0 300 end a 1.1
         1 400 end b 2.1",
    );
    assert_shows(
        &found,
        "1.1 100..300: a 100..300 (Start, Whole)
         1.2 150..200: a 150..200 (Start, Whole)
         2.1 250..400: b 250..400 (Start, Whole)",
    );
}

#[test]
fn a_span_may_be_ended_by_another_thread() {
    let drawing = "0 100 start a 1.1
                   1 300 end b 1.1";
    assert_shows(
        &servings(drawing),
        "1.1 100..300: a 100..300 (Start, Whole)",
    );
    let found = Drawing::parse(&format!("{TWO_RUN}\n{drawing}")).find(1, u64::MAX);
    assert!(found.requests.all()[0].ends_elsewhere());
}

#[test]
fn attach_and_detach_say_who_serves() {
    let found = servings(
        "0 100 start a 1.1
         0 110 attach a 1.1
         0 150 detach a 1.1
         1 200 attach b 1.1
         1 250 detach b 1.1
         0 300 attach a 1.1
         0 310 end a 1.1
         0 320 detach a 1.1",
    );
    assert_shows(
        &found,
        "1.1 100..310: a 110..150, b 200..250, a 300..310 (Attach, Whole)",
    );
}

#[test]
fn only_processes_that_tell_attachments_are_believed_to_tell_all() {
    let found = servings(
        "0 100 start a 1.1 P
         1 100 start b 2.1 Q
         0 150 attach a 1.1 P
         0 180 start a 1.2 P
         0 190 end a 1.2 P
         0 200 detach a 1.1 P
         0 300 end a 1.1 P
         1 300 end b 2.1 Q",
    );
    assert_shows(
        &found,
        "1.1 100..300: a 150..200 (Attach, Whole)
         2.1 100..300: b 100..300 (Start, Whole)
         1.2 180..190: (End, Whole)",
    );
}

#[test]
fn a_thread_that_never_tells_attachments_is_taken_to_serve_what_it_starts() {
    // Thread b is one below virtual threads; thread a starts one more span, which b takes up unseen.
    let found = servings(
        "0 100 start a 1.1
         0 110 attach a 1.1
         1 120 start b 2.1
         0 130 detach a 1.1
         0 140 end a 1.1
         0 150 start a 3.1
         1 200 end b 2.1
         1 300 end b 3.1",
    );
    assert_shows(
        &found,
        "1.1 100..140: a 110..130 (Attach, Whole)
         2.1 120..200: b 120..200 (Start, Whole)
         3.1 150..300: (End, Whole)",
    );
    // Who starts spans for others to take up serves none of them.
    let found = servings(
        "0 100 start a 1.1
         1 110 attach b 1.1
         1 130 detach b 1.1
         0 140 end a 1.1",
    );
    assert_shows(&found, "1.1 100..140: b 110..130 (Attach, Whole)");
}

#[test]
fn where_one_thread_takes_up_spans_and_another_leaves_them_none_is_believed() {
    let found = servings(
        "0 100 start a 1.1 P
         0 110 attach a 1.1 P
         1 120 start b 2.1 P
         1 130 attach b 2.1 P
         1 140 detach b 2.1 P
         1 150 end b 2.1 P
         1 160 start b 3.1 Q
         1 170 attach b 3.1 Q
         1 200 detach b 1.1 P
         1 210 end b 1.1 P
         1 220 detach b 3.1 Q
         1 230 end b 3.1 Q",
    );
    assert_shows(
        &found,
        "1.1 100..210: a 100..210 (Start, Whole)
         2.1 120..150: b 120..150 (Start, Whole)
         3.1 160..230: b 170..220 (Attach, Whole)",
    );
    // Who leaves it later itself only shared it.
    let found = servings(
        "0 100 start a 1.1
         0 110 attach a 1.1
         1 200 detach b 1.1
         0 210 detach a 1.1
         0 220 end a 1.1",
    );
    assert_shows(&found, "1.1 100..220: a 110..210 (Attach, Whole)");
}

#[test]
fn a_context_that_came_from_elsewhere_is_no_request_of_the_process() {
    let found = servings(
        "0 100 start a 1.1 P
         0 110 attach a 1.1 P
         1 120 attach b 1.1 Q
         1 125 start b 1.2 Q
         1 130 attach b 1.2 Q
         1 140 detach b 1.2 Q
         1 145 end b 1.2 Q
         1 150 detach b 1.1 Q
         0 200 detach a 1.1 P
         0 200 end a 1.1 P",
    );
    assert_shows(
        &found,
        "1.1 100..200: a 110..200 (Attach, Whole)
         1.2 125..145: b 130..140 (Attach, Whole)",
    );
}

#[test]
fn what_the_trace_shows_in_part_is_cut_at_its_ends() {
    let found = servings(
        "0 100 end a 1.1
         0 200 end a 1.2
         1 300 start b 2.1",
    );
    assert_shows(
        &found,
        "1.1 0..100: a 0..100 (Start, NoStart)
         1.2 0..200: a 0..200 (Start, NoStart)
         2.1 300..900: b 300..900 (Start, NoEnd)",
    );
}

#[test]
fn both_sides_of_a_call_may_have_one_id() {
    let found = servings(
        "0 100 start a 1.1 P
         1 150 start b 1.1 Q
         1 200 end b 1.1 Q
         0 250 end a 1.1 P",
    );
    assert_shows(
        &found,
        "1.1 100..250: a 100..250 (Start, Whole)
         1.1 150..200: b 150..200 (Start, Whole)",
    );
}

#[test]
fn a_thread_that_is_not_told_is_the_one_that_ran() {
    let found = servings(
        "1 100 start ? 1.1
         0 150 start ? 2.1
         1 200 end ? 1.1
         0 250 end ? 2.1",
    );
    assert_shows(
        &found,
        "1.1 100..200: b 100..200 (Start, Whole)
         2.1 150..250: a 150..250 (Start, Whole)",
    );
}

#[test]
fn where_nothing_is_known_a_number_of_another_namespace_is_who_ran_at_other_times() {
    // The container's x is a; the host's x sleeps meanwhile. Then events of processor 0 are missing.
    let drawn = |told_before: &str| {
        let drawing = format!(
            "0 0 switch - a
             1 0 switch - x
             1 10 switch x:S -
             {told_before}
             1 240 wake x
             1 250 switch - x
             0 260 switch a -
             0 270 switch - a
             0 300 loses
             0 500 start x 1.2
             0 600 end x 1.2
             0 900 switch a:S -
             1 900 switch x:S -"
        );
        let parsed = Drawing::parse(&drawing);
        parsed.find(1, u64::MAX).servings()
    };
    let known = drawn("0 100 start x 1.1\n0 200 end x 1.1");
    assert_shows(
        &known,
        "1.1 100..200: a 100..200 (Start, Whole)\n1.2 500..600: a 500..600 (Start, Whole)",
    );
    assert_shows(&drawn(""), "1.2 500..600: (Nothing, Whole)");
    // Nor did it tell anything then, but the tracer looked which numbers it has.
    assert_shows(
        &drawn("0 100 dump a a x \u{1}"),
        "1.2 500..600: a 500..600 (Start, Whole)",
    );
    // So has another container's.
    assert_shows(
        &drawn("0 100 dump a a x \u{1}\n0 100 dump b b x \u{1}\n2 100 wake b"),
        "1.2 500..600: (Nothing, Whole)",
    );
}

#[test]
fn a_number_of_another_namespace_is_not_believed() {
    // In its container the thread is called x; the host calls it a, and may have another x.
    for another in ["", "2 890 wake x\n2 900 switch - x\n"] {
        let told = "0 100 start x 1.1\n0 200 end x 1.1";
        let found = servings(&format!("{another}{told}"));
        assert_shows(&found, "1.1 100..200: a 100..200 (Start, Whole)");
    }
}
