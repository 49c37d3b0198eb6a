//! Which packets of a stream state times that the others contradict.
//!
//! Events' times are counted from what their packet states, so one damaged number moves them all. Of the
//! stated times the most that can follow each other are believed. Where another choice would be as large,
//! or nearly, none of the packets in question is: nothing tells then which of them are damaged.

/// The positions of those of `times` (begin and end of packets by the stream's clock, in their order) that
/// contradict the others, in order. Packets follow each other where neither begin nor end goes back.
///
/// First by their begins, then, of what is left, by their ends. O(n log n) for n packets.
pub fn contradicting(times: &[(u64, u64)]) -> Vec<usize> {
    let mut believed: Vec<usize> = (0..times.len())
        .filter(|&position| times[position].0 <= times[position].1)
        .collect();
    for bound in [|times: &(u64, u64)| times.0, |times: &(u64, u64)| times.1] {
        let stated: Vec<u64> = believed.iter().map(|&own| bound(&times[own])).collect();
        if !stated.is_sorted() {
            let mut is_certain = in_every_longest_rise(&stated);
            leave_out_disputed(&stated, &mut is_certain);
            let mut is_certain = is_certain.into_iter();
            believed.retain(|_| is_certain.next() == Some(true));
        }
    }
    let mut believed = believed.into_iter().peekable();
    (0..times.len())
        .filter(|position| believed.next_if_eq(position).is_none())
        .collect()
}

/// Which of `values` are part of every longest subsequence that never goes down.
fn in_every_longest_rise(values: &[u64]) -> Vec<bool> {
    let before = longest_rises(values.iter().copied());
    // The same from the other end, where a rise is a fall.
    let mut after = longest_rises(values.iter().rev().map(|value| u64::MAX - value));
    after.reverse();
    let longest = before.iter().copied().max().unwrap_or(0);
    let place = |position: usize| {
        let is_part = before[position] + after[position] == longest + 1;
        is_part.then_some(before[position])
    };
    // How many can be the first, the second … of such a subsequence.
    let mut candidates = vec![0_u32; longest + 1];
    (0..values.len())
        .filter_map(place)
        .for_each(|place| candidates[place] += 1);
    (0..values.len())
        .map(|position| place(position).is_some_and(|place| candidates[place] == 1))
        .collect()
}

/// Takes back the belief in those of `values` that a run of others contradicts which is more than two thirds
/// as long as they are many.
fn leave_out_disputed(values: &[u64], is_believed: &mut [bool]) {
    let positions: Vec<usize> = (0..values.len()).filter(|&own| is_believed[own]).collect();
    let value_of = |position: &usize| values[*position];
    let mut disputed = Vec::new();
    for run in (0..values.len())
        .collect::<Vec<_>>()
        .chunk_by(|one, other| is_believed[*one] == is_believed[*other])
        .filter(|run| !is_believed[run[0]])
    {
        let lowest = run.iter().map(value_of).min().unwrap_or(0);
        let highest = run.iter().map(value_of).max().unwrap_or(0);
        let here = positions.partition_point(|position| *position < run[0]);
        let (before, after) = positions.split_at(here);
        // What is believed rises.
        let first = before.partition_point(|position| value_of(position) <= lowest);
        let end = here + after.partition_point(|position| value_of(position) < highest);
        if run.len() * 3 > (end - first) * 2 {
            disputed.push(first..end);
        }
    }
    // Ranges of several runs may overlap: each is gone over from where those before it ended.
    disputed.sort_by_key(|range| range.start);
    let mut next = 0;
    for range in disputed {
        for place in next.max(range.start)..range.end {
            is_believed[positions[place]] = false;
        }
        next = next.max(range.end);
    }
}

/// The length of the longest subsequence that never goes down and ends with each value (Fredman 1975, "On
/// computing the length of longest increasing subsequences").
fn longest_rises(values: impl Iterator<Item = u64>) -> Vec<usize> {
    // By length, less one: the smallest value that a subsequence of it ends with.
    let mut ends: Vec<u64> = Vec::new();
    let lengths = values.map(|value| {
        let longest_before = ends.partition_point(|end| *end <= value);
        match ends.get_mut(longest_before) {
            Some(end) => *end = value,
            None => ends.push(value),
        }
        longest_before + 1
    });
    lengths.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_packets_are_held_for_damaged() {
        let check = |times: &[(u64, u64)], expected: &[usize]| {
            assert_eq!(contradicting(times), expected, "{times:?}");
        };
        check(&[], &[]);
        check(&[(1, 2), (2, 3), (3, 4)], &[]);
        // Overlaps are possible.
        check(&[(1, 4), (3, 5), (3, 5)], &[]);
        check(&[(1, 2), (90, 91), (3, 4), (5, 6)], &[1]);
        check(&[(90, 91), (1, 2), (2, 3)], &[0]);
        check(&[(1, 2), (2, 3), (3, 4), (1, 2)], &[3]);
        check(&[(1, 2), (5, 3), (4, 6)], &[1]);
        check(&[(1, 2), (2, 30), (3, 4), (4, 5)], &[1]);
        // Several in a row, ahead and behind.
        let forth = [(1, 2), (2, 3), (90, 91), (91, 92), (5, 6), (6, 7), (7, 8)];
        check(&forth, &[2, 3]);
        let back = [(10, 11), (11, 12), (1, 2), (2, 3), (13, 14), (14, 15)];
        check(&back, &[0, 1, 2, 3]);
    }

    #[test]
    fn nothing_is_believed_that_only_some_of_the_largest_sets_have() {
        assert_eq!(contradicting(&[(10, 11), (1, 2)]), [0, 1]);
        assert_eq!(contradicting(&[(10, 11), (1, 2), (12, 13)]), [0, 1]);
        assert_eq!(contradicting(&[(1, 2), (90, 91), (3, 4)]), [1, 2]);
    }

    #[test]
    fn hundreds_at_once_are_held_against_more() {
        let moved = |by: u64| {
            let times = (0..3_000_u64).map(|position| {
                let at = 10_000 + 10 * position - if position >= 2_000 { by } else { 0 };
                (at, at)
            });
            contradicting(&times.collect::<Vec<_>>())
        };
        // A third of the stream lies before all else.
        assert_eq!(moved(30_000 - 10), (2_000..3_000).collect::<Vec<_>>());
        // That third lies where half of the rest is.
        assert_eq!(moved(15_000), (501..3_000).collect::<Vec<_>>());
        // A block lies where nearly as many others are: none of both is believed.
        let mut block: Vec<(u64, u64)> = (100..400).map(|at| (10 * at, 10 * at)).collect();
        for moved in &mut block[150..230] {
            *moved = (moved.0 - 905, moved.1 - 905);
        }
        assert_eq!(contradicting(&block), (60..230).collect::<Vec<_>>());
    }
}
