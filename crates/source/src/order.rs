//! Which packets of a stream state times that the others contradict.
//!
//! Events' times are counted from what their packet states, so one damaged number moves them all. The
//! most packets that can follow each other are believed; nothing is left out where that would be half of
//! them or more, or many in a row, as nothing tells then which of them are wrong.

/// No more packets in a row are held for damaged.
const MOST_IN_A_ROW: usize = 16;

/// The best run of packets that ends with one: as many as possible, then as short in time as possible.
#[derive(Clone, Copy)]
struct Chain {
    length: usize,
    begin: u64,
    /// The packet before its last one.
    before: Option<usize>,
}

/// The positions of those of `times` (begin and end of packets by the stream's clock, in their order) that
/// contradict the others, in order. Packets follow each other where neither begin nor end goes back.
pub fn contradicting(times: &[(u64, u64)]) -> Vec<usize> {
    let follows = |one: (u64, u64), other: (u64, u64)| one.0 <= other.0 && one.1 <= other.1;
    let makes_sense = |times: (u64, u64)| times.0 <= times.1;
    if times.iter().all(|&own| makes_sense(own))
        && times.is_sorted_by(|one, other| follows(*one, *other))
    {
        return Vec::new();
    }
    let mut chains: Vec<Option<Chain>> = Vec::with_capacity(times.len());
    for (position, &own) in times.iter().enumerate() {
        let earlier = position.saturating_sub(MOST_IN_A_ROW + 1)..position;
        let longest = earlier
            .filter(|&before| follows(times[before], own))
            .filter_map(|before| Some((before, chains[before]?)))
            .max_by_key(|(_, chain)| (chain.length, chain.begin));
        let chain = match longest {
            Some((before, chain)) => Chain {
                length: chain.length + 1,
                before: Some(before),
                ..chain
            },
            None => Chain {
                length: 1,
                begin: own.0,
                before: None,
            },
        };
        chains.push(makes_sense(own).then_some(chain));
    }
    let extent = |position: usize, chain: &Chain| times[position].1.saturating_sub(chain.begin);
    let ends = (chains.iter().enumerate())
        .filter_map(|(position, chain)| chain.as_ref().map(|chain| (position, chain)));
    let best = ends.max_by_key(|(position, chain)| {
        (chain.length, std::cmp::Reverse(extent(*position, chain)))
    });
    let mut believed = vec![false; times.len()];
    let mut next = best.map(|(position, _)| position);
    while let Some(position) = next {
        believed[position] = true;
        next = chains[position].and_then(|chain| chain.before);
    }
    let left_out: Vec<usize> = (0..times.len())
        .filter(|&position| !believed[position])
        .collect();
    let in_a_row = left_out.chunk_by(|one, other| one + 1 == *other);
    let is_too_much = left_out.len() * 2 >= times.len()
        || in_a_row.map(<[usize]>::len).max() > Some(MOST_IN_A_ROW);
    match is_too_much {
        true => Vec::new(),
        false => left_out,
    }
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
        check(&[(1, 2), (90, 91), (3, 4)], &[1]);
        check(&[(10, 11), (1, 2), (12, 13)], &[1]);
        check(&[(90, 91), (1, 2), (2, 3)], &[0]);
        check(&[(1, 2), (2, 3), (3, 4), (1, 2)], &[3]);
        check(&[(1, 2), (5, 3), (4, 6)], &[1]);
        check(&[(10, 11), (1, 2)], &[]);
        // Several in a row, ahead and behind.
        let forth = [(1, 2), (2, 3), (90, 91), (91, 92), (5, 6), (6, 7), (7, 8)];
        check(&forth, &[2, 3]);
        let back = [(10, 11), (11, 12), (1, 2), (2, 3), (13, 14), (14, 15)];
        check(&back, &[2, 3]);
        // A clock that was set back: nothing tells which half is wrong.
        let set_back: Vec<(u64, u64)> = (100..120).chain(0..40).map(|at| (at, at + 1)).collect();
        check(&set_back, &[]);
    }
}
