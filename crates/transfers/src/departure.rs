//! How far the objects that were watched are from all that were counted, by how many a response has. An agent stops
//! watching when it has samples enough, and goes on counting: a long response may come only then, and have more objects
//! than all before. Of those nothing says how they are used.

use slowpath_read_transfers::{Class, Field, Length};

use crate::share::Share;

/// The squared number of standard errors in which 95 % lie: of so many samples in which something was not seen, this
/// stands for what was missed (Wilson's upper bound of 0).
const UNSEEN: f64 = 3.84;

/// So many standard errors apart, two means are no accident.
const APART: f64 = 3.0;

/// By how much the share in which a field is used may be off in either direction as its samples stand for other lengths
/// than arrive, with 95 % confidence. `is_unanimous`: all of them say the same.
pub(crate) fn of_field(class: &Class, field: &Field, is_unanimous: bool) -> f64 {
    let of_this = ratio(field.decided(), class.decided);
    let missing = scarce(class).map(|(length, missing)| {
        let samples = length.decided as f64 * of_this;
        match is_unanimous {
            true => missing * UNSEEN / (samples + UNSEEN),
            false => missing,
        }
    });
    // How many objects are in these lengths is an estimate, too.
    let sum = |of: fn(&Length) -> u64| sum(&class.lengths, of);
    let objects = scarce(class).map(|(length, _)| length.objects);
    let objects = objects.fold(0, u64::saturating_add);
    let share = Share::of_weights(
        objects,
        sum(|length| length.objects),
        sum(|length| length.squares),
    );
    let share = share.filter(|share| share.share > 0.0);
    let scarce = share.map_or(0.0, |share| missing.sum::<f64>() * share.high / share.share);
    scarce + unlike(class)
}

/// The share of all objects that are in lengths of which there are too few samples.
pub(crate) fn of_class(class: &Class) -> f64 {
    let scarce: f64 = scarce(class).map(|(_, missing)| missing).sum();
    scarce + unlike(class)
}

/// Lengths of which there are fewer samples than of all objects, by weight, with the difference of these shares.
fn scarce(class: &Class) -> impl Iterator<Item = (&Length, f64)> {
    let missing = shares(class).map(|(length, of_all, of_samples)| (length, of_all - of_samples));
    missing.filter(|&(_, missing)| missing > 0.0)
}

/// The least share of all objects that are in responses of other lengths than the samples, though these are counted
/// together.
fn unlike(class: &Class) -> f64 {
    let unlike = shares(class)
        .map(|(length, of_all, of_samples)| of_all.min(of_samples) * unlike_within(length));
    unlike.sum()
}

fn unlike_within(length: &Length) -> f64 {
    if length.decided == 0 || length.responses == 0 {
        return 0.0;
    }
    let mean = ratio(length.objects, length.responses);
    let of_samples = ratio(length.decided_weight, length.decided);
    let variance = ratio(length.squares, length.responses) - mean * mean;
    let error = (variance.max(0.0) / length.decided as f64).sqrt();
    // Those that are like no sample have as many as can be at most, or at least: so they are the fewest.
    let others = match mean > of_samples {
        true => length.least.saturating_mul(2).saturating_sub(1) as f64,
        false => length.least as f64,
    };
    if (mean - of_samples).abs() <= APART * error || others == of_samples {
        return 0.0;
    }
    ((mean - of_samples) / (others - of_samples) * others / mean).clamp(0.0, 1.0)
}

/// Each length, with its shares of all objects and of the samples, by weight.
fn shares(class: &Class) -> impl Iterator<Item = (&Length, f64, f64)> {
    let objects = sum(&class.lengths, |length| length.objects);
    let decided = sum(&class.lengths, |length| length.decided_weight);
    class.lengths.iter().map(move |length| {
        let of_all = ratio(length.objects, objects);
        (length, of_all, ratio(length.decided_weight, decided))
    })
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
