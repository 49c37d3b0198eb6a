//! The options of a `trace.dat` file: small facts, each with a number and a size.
//!
//! Options that do not matter here, unknown ones and damaged ones are stepped over, as trace-cmd
//! does.

use slowpath_model::CpuId;

use crate::byte_order::{ByteOrder, Cursor, Ended, lossy};
use crate::clock::{Correction, CounterScale, clock_in_use};
use crate::saved::{Losses, parse_stats};

pub(super) const DONE: u16 = 0;
const DATE: u16 = 1;
const CPUSTAT: u16 = 2;
/// Where a buffer's pages are; laid out differently in version 7.
pub(super) const BUFFER: u16 = 3;
const TRACECLOCK: u16 = 4;
const UNAME: u16 = 5;
const OFFSET: u16 = 7;
const VERSION: u16 = 9;
const TIME_SHIFT: u16 = 12;
const TSC2NSEC: u16 = 14;

/// In TIME_SHIFT: corrections are joined by straight lines.
const INTERPOLATE: u32 = 1;

/// What the options said.
#[derive(Default)]
pub(super) struct Options {
    /// To be added to converted clock readings to get to the Unix epoch.
    pub(super) offset_ns: i64,
    pub(super) clock: String,
    pub(super) uname: String,
    pub(super) trace_cmd_version: String,
    pub(super) scale: Option<CounterScale>,
    /// Corrections to the host's clock by processor.
    pub(super) corrections: Vec<Vec<Correction>>,
    pub(super) interpolate: bool,
    /// Version 6: where instances' tables are, and their names.
    pub(super) instances: Vec<(u64, String)>,
    /// Losses by instance and processor.
    losses: Vec<(String, CpuId, Losses)>,
    stats_of: String,
}

impl Options {
    /// Takes in one option.
    pub(super) fn read(&mut self, id: u16, data: &[u8], order: ByteOrder) {
        let mut cursor = Cursor::new(data, 0, order);
        match id {
            DATE => self.add_offset(data, 1_000),
            OFFSET => self.add_offset(data, 1),
            CPUSTAT => self.read_stats(&lossy(data)),
            BUFFER => {
                if let (Ok(at), Ok(name)) = (cursor.u64(), cursor.text()) {
                    self.instances.push((at, name));
                }
            }
            TRACECLOCK => {
                if let Some(clock) = clock_in_use(&lossy(data)) {
                    self.clock = clock.to_owned();
                }
            }
            UNAME => self.uname = lossy(data),
            VERSION => self.trace_cmd_version = lossy(data),
            TIME_SHIFT => {
                // A cut list is worth nothing: it ends with what it should have said first.
                self.corrections = self.read_corrections(&mut cursor).unwrap_or_default();
            }
            TSC2NSEC => {
                if let (Ok(multiplier), Ok(shift)) = (cursor.u32(), cursor.u32()) {
                    self.scale = Some(CounterScale { multiplier, shift });
                }
            }
            _ => {}
        }
    }

    /// Events lost on `cpu` of the buffer called `name`, as far as the file says.
    pub(super) fn losses(&self, name: &str, cpu: CpuId) -> Losses {
        let mut all = self.losses.iter();
        let found = all.find(|(of, on, _)| of == name && *on == cpu);
        found.map_or(Losses::default(), |(_, _, losses)| *losses)
    }

    fn add_offset(&mut self, data: &[u8], unit_ns: i64) {
        if let Some(number) = c_number(&lossy(data)) {
            self.offset_ns = self.offset_ns.wrapping_add(number.wrapping_mul(unit_ns));
        }
    }

    /// `Buffer: NAME` alone announces an instance; each following text is one processor's.
    fn read_stats(&mut self, text: &str) {
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("Buffer:") {
                self.stats_of = name.trim().to_owned();
            } else if let Some(cpu) = line
                .strip_prefix("CPU:")
                .and_then(|cpu| cpu.trim().parse().ok())
            {
                self.losses
                    .push((self.stats_of.clone(), CpuId(cpu), parse_stats(text).0));
            }
        }
    }

    fn read_corrections(&mut self, cursor: &mut Cursor<'_>) -> Result<Vec<Vec<Correction>>, Ended> {
        cursor.u64()?; // the host's trace
        self.interpolate = cursor.u32()? & INTERPOLATE != 0;
        let mut corrections = Vec::new();
        for _ in 0..cursor.u32()? {
            let count = cursor.u32()?;
            let of_cpu: Result<Vec<u64>, Ended> =
                (0..u64::from(count) * 3).map(|_| cursor.u64()).collect();
            let (of_cpu, count) = (of_cpu?, count as usize);
            let correction = |index: usize| Correction {
                time: of_cpu[index],
                offset: of_cpu[count + index] as i64,
                scaling: of_cpu[2 * count + index],
                fraction: 0,
            };
            corrections.push((0..count).map(correction).collect::<Vec<_>>());
        }
        // Files of trace-cmd before 3 end here: their scaling is a whole number.
        for correction in corrections.iter_mut().flatten() {
            let Ok(fraction) = cursor.u64() else {
                break;
            };
            correction.fraction = fraction;
        }
        Ok(corrections)
    }
}

/// A number as C's `strtoll` reads it: decimal, or hexadecimal behind `0x`.
fn c_number(text: &str) -> Option<i64> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let number = match digits.strip_prefix("0x") {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16).ok()?,
        None => digits.parse().ok()?,
    };
    let number = number as i64;
    Some(if negative {
        number.wrapping_neg()
    } else {
        number
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_add_up() {
        let mut options = Options::default();
        options.read(DATE, b"0x10\0", ByteOrder::Little);
        options.read(OFFSET, b"-7\0", ByteOrder::Little);
        options.read(OFFSET, b"rubbish\0", ByteOrder::Little);
        assert_eq!(options.offset_ns, 16_000 - 7);
    }

    #[test]
    fn statistics_belong_to_a_buffer_and_a_processor() {
        let mut options = Options::default();
        for text in [
            "CPU: 0\ndropped events: 2\n",
            "\nBuffer: shop\n\n",
            "CPU: 0\ncommit overrun: 5\n",
        ] {
            options.read(CPUSTAT, text.as_bytes(), ByteOrder::Little);
        }
        assert_eq!(options.losses("", CpuId(0)).dropped, 2);
        assert_eq!(options.losses("shop", CpuId(0)).dropped, 5);
        assert_eq!(options.losses("shop", CpuId(1)).dropped, 0);
    }

    #[test]
    fn a_guests_corrections_by_processor() {
        let mut data = Vec::new();
        data.extend(9u64.to_be_bytes());
        data.extend([1u32, 1].map(u32::to_be_bytes).concat());
        data.extend(2u32.to_be_bytes());
        data.extend(
            [100u64, 200, 10, 20, 1, 3, 0, 1]
                .map(u64::to_be_bytes)
                .concat(),
        );
        let mut options = Options::default();
        options.read(TIME_SHIFT, &data, ByteOrder::Big);
        let first = Correction {
            time: 100,
            offset: 10,
            scaling: 1,
            fraction: 0,
        };
        let second = Correction {
            time: 200,
            offset: 20,
            scaling: 3,
            fraction: 1,
        };
        assert!(options.interpolate);
        assert_eq!(options.corrections, [[first, second]]);
        options.read(TIME_SHIFT, &data[..40], ByteOrder::Big);
        assert_eq!(options.corrections.len(), 0);
    }
}
