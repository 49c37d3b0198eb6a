//! Checks metrics that are functions of unmodified programs.

use std::ops::Range;

use super::super::function::{Function, OfCalls, TimeUnit};
use super::super::metric::{Metric, Source, Take};
use super::super::raw::RawMetric;
use super::super::read::Wrong;

const EXAMPLE: &str =
    "function = \"sqlite3_step\", binary = \"libsqlite3.so.0\", type = \"CNT\" (or LAT, TPT)";

/// Whether the metric says anything of a function.
pub(super) fn is_meant(raw: &RawMetric) -> bool {
    raw.function.is_some() || raw.binary.is_some()
}

/// The metric.
pub(super) fn metric(name: &str, at: Range<usize>, raw: RawMetric) -> Result<Metric, Wrong> {
    if raw.regex.is_some() || raw.json.is_some() || raw.measure.is_some() {
        let what = format!("`{name}` needs one place that it comes from");
        return Err(Wrong::new(at, what, EXAMPLE));
    }
    let (Some(function), Some(binary), Some(calls)) = (raw.function, raw.binary, raw.kind) else {
        let what = format!("`{name}` needs `function`, `binary` and `type`");
        return Err(Wrong::new(at, what, EXAMPLE));
    };
    if function.is_empty() || binary.is_empty() {
        let what = format!("`{name}` names no function of no file");
        return Err(Wrong::new(at, what, EXAMPLE));
    }
    let (of, unit) = match calls.as_str() {
        "CNT" | "TPT" if raw.take.is_some() => {
            let what = "`take` chooses among times of calls, which have the type \"LAT\"";
            return Err(Wrong::new(at, what, ""));
        }
        "CNT" => (OfCalls::Count, "calls"),
        "TPT" => (OfCalls::PerSecond, "calls/s"),
        "LAT" => {
            let take = raw.take.as_deref().map_or(Some(Take::Mean), Take::named);
            // Which call was the first or last is not kept.
            let take = take.filter(|take| !matches!(take, Take::First | Take::Last));
            let Some(take) = take else {
                let hint = "take = mean (the default), median, p95, p99, min, max or sum";
                let what = "`take` is nothing that can be taken from times of calls";
                return Err(Wrong::new(at, what, hint));
            };
            let unit = TimeUnit::from_name(&raw.unit).ok_or_else(|| {
                let what = format!("`{}` is no unit of time", raw.unit);
                Wrong::new(at, what, "s (the default), ms, us or ns")
            })?;
            (OfCalls::Time { take, unit }, "s")
        }
        _ => {
            let what = format!("calls of a function have no type `{calls}`");
            return Err(Wrong::new(at, what, EXAMPLE));
        }
    };
    let unit = match raw.unit.is_empty() {
        true => unit.to_owned(),
        false => raw.unit,
    };
    let function = Function {
        binary,
        name: function,
    };
    Ok(Metric {
        source: Source::Function { function, of },
        unit,
    })
}
