//! How far the objects that were watched are from all that were counted, by how many a response has. An agent stops
//! watching when it has samples enough, and goes on counting: a long response may come only then, and have more objects
//! than all before. Of those nothing says how they are used.

use slowpath_read_transfers::{Class, Field, Length};

use crate::share::Share;

/// The squared number of standard errors in which 95 % lie: of so many samples in which something was not seen, this
/// stands for what was missed (Wilson's upper bound of 0).
const UNSEEN: f64 = 3.84;

/// By how much the share in which a field is used may be off in either direction as its samples stand for other lengths
/// than arrive, with 95 % confidence. `is_unanimous`: all of them say the same.
pub(crate) fn of_field(class: &Class, field: &Field, is_unanimous: bool) -> f64 {
    let of_this = ratio(field.decided(), class.decided);
    let missing = missing(class, |length| {
        let samples = length.decided as f64 * of_this;
        match is_unanimous {
            true => UNSEEN / (samples + UNSEEN),
            false => 1.0,
        }
    });
    // How many objects are in these lengths is an estimate, too.
    let sum = |of: fn(&Length) -> u64| sum(&class.lengths, of);
    let objects = scarce(class).map(|(length, _)| length.objects);
    let objects = objects.fold(0, u64::saturating_add);
    Share::of_weights(
        objects,
        sum(|length| length.objects),
        sum(|length| length.squares),
    )
    .filter(|share| share.share > 0.0)
    .map_or(0.0, |share| missing * share.high / share.share)
}

/// The share of all objects that are in lengths of which there are too few samples.
pub(crate) fn of_class(class: &Class) -> f64 {
    missing(class, |_| 1.0)
}

fn missing(class: &Class, weight: impl Fn(&Length) -> f64) -> f64 {
    scarce(class)
        .map(|(length, missing)| missing * weight(length))
        .sum()
}

/// Lengths of which there are fewer samples than of all objects, by weight, with the difference of these shares.
fn scarce(class: &Class) -> impl Iterator<Item = (&Length, f64)> {
    let objects = sum(&class.lengths, |length| length.objects);
    let decided = sum(&class.lengths, |length| length.decided_weight);
    (class.lengths.iter())
        .map(move |length| {
            let of_all = ratio(length.objects, objects);
            (length, of_all - ratio(length.decided_weight, decided))
        })
        .filter(|&(_, missing)| missing > 0.0)
}

fn sum(lengths: &[Length], of: fn(&Length) -> u64) -> u64 {
    lengths.iter().map(of).fold(0, u64::saturating_add)
}

fn ratio(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        _ => part as f64 / whole as f64,
    }
}
