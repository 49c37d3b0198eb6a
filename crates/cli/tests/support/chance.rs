//! Chance for tests: numbers and values made up, the same on every machine and at every run.

use serde_json::{Value, json};

/// Small and the same on every machine (xorshift64*).
pub struct Chance(pub u64);

impl Chance {
    /// A number from 0 to less than `most`.
    pub fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % most
    }

    /// Numbers, texts and lists, few of them sensible.
    pub fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 8 } else { 12 }) {
            0 => json!(null),
            1 => json!(self.below(2) == 0),
            2 => json!(i64::MIN),
            3 => json!(i64::MAX),
            4 => json!(u64::MAX),
            5 => json!(self.below(1_000)),
            6 => json!(-1.5e300),
            7 => json!(
                [
                    "",
                    "threads",
                    "duration",
                    "\u{0}",
                    "../..",
                    "9999999999999999999",
                    "NaN"
                ][self.below(7)]
            ),
            8 | 9 => (0..self.below(5)).map(|_| self.value(depth - 1)).collect(),
            _ => {
                const NAMES: [&str; 10] = [
                    "parameters",
                    "requested_timerange",
                    "start",
                    "end",
                    "nbTimes",
                    "requested_items",
                    "rows",
                    "begin_ns",
                    "end_ns",
                    "pixels",
                ];
                let fields = (0..self.below(6)).map(|_| {
                    (
                        NAMES[self.below(NAMES.len())].to_owned(),
                        self.value(depth - 1),
                    )
                });
                Value::Object(fields.collect())
            }
        }
    }
}
