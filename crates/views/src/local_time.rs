//! The time of day in the user's time zone, cheaply for rising times.

use slowpath_model::Timestamp;

/// Prints `HH:MM:SS.nnnnnnnnn`. The zone's offset is looked up once per quarter of an hour of trace
/// time, which is the finest step in which zones change theirs.
#[derive(Default)]
pub(crate) struct LocalTime {
    quarter: Option<i64>,
    offset_seconds: i64,
}

impl LocalTime {
    pub(crate) fn write(&mut self, line: &mut Vec<u8>, at: Timestamp) {
        let seconds = at.ns().div_euclid(1_000_000_000);
        let nanoseconds = at.ns().rem_euclid(1_000_000_000) as u32;
        let quarter = seconds.div_euclid(900);
        if self.quarter != Some(quarter) {
            self.quarter = Some(quarter);
            self.offset_seconds = zone_offset(seconds);
        }
        let of_day = (seconds + self.offset_seconds).rem_euclid(86_400) as u32;
        let digits = |value: u32| [b'0' + (value / 10) as u8, b'0' + (value % 10) as u8];
        line.extend_from_slice(&digits(of_day / 3600));
        line.push(b':');
        line.extend_from_slice(&digits(of_day / 60 % 60));
        line.push(b':');
        line.extend_from_slice(&digits(of_day % 60));
        line.push(b'.');
        let mut scale = 100_000_000;
        for _ in 0..9 {
            line.push(b'0' + (nanoseconds / scale % 10) as u8);
            scale /= 10;
        }
    }
}

/// Seconds to add to UTC at a time.
fn zone_offset(seconds: i64) -> i64 {
    let Ok(at) = jiff::Timestamp::from_second(seconds) else {
        return 0;
    };
    let zone = jiff::tz::TimeZone::system();
    i64::from(zone.to_offset(at).seconds())
}
