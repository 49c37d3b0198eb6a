//! A metric of probes inside the observed programs: which probe, which of its values, what is made of them.

use std::collections::BTreeMap;
use std::ops::Range;

use super::raw::{RawName, RawProbe};
use super::read::Wrong;
use super::{Metric, Source};
use crate::probes::ProbeKind;

/// Numbers that probes store, made one.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeMetric {
    /// What the probe measures.
    pub kind: ProbeKind,
    /// Which one.
    pub probe: ProbeName,
    /// The place of the value in its records.
    pub field: usize,
    /// What is made of the values.
    pub take: Aggregate,
    /// So many executions of a thread make a record; as the source says where `None`.
    pub every: Option<u32>,
}

/// Which probe of its kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProbeName {
    /// By its number.
    Id(u16),
    /// By its name.
    Name(String),
}

/// What is made of many values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aggregate {
    /// Their sum.
    Sum,
    /// Their sum for each second of the workload.
    Rate,
    /// Their mean.
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The value that this share of them, from 0 to 1, does not exceed.
    Quantile(f64),
}

impl Aggregate {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "sum" => Self::Sum,
            "rate" => Self::Rate,
            "mean" => Self::Mean,
            "median" => Self::Quantile(0.5),
            "min" => Self::Min,
            "max" => Self::Max,
            _ => {
                let percent: f64 = name.strip_prefix('p')?.parse().ok()?;
                (percent > 0.0 && percent < 100.0).then_some(Self::Quantile(percent / 100.0))?
            }
        })
    }
}

impl ProbeMetric {
    /// The metric, and the unit that its numbers have.
    pub(super) fn check(
        raw: RawProbe,
        take: Option<&str>,
        at: &Range<usize>,
    ) -> Result<(Self, &'static str), Wrong> {
        let wrong = |what: String, hint: &str| Wrong::new(at.clone(), what, hint);
        let kinds = ProbeKind::ALL.map(ProbeKind::name).join(", ");
        let kind = raw.kind.unwrap_or_default();
        let kind = (ProbeKind::ALL.into_iter())
            .find(|known| known.name() == kind)
            .ok_or_else(|| {
                let hint = format!("a type is one of {kinds}");
                wrong("a probe needs its `type`".to_owned(), &hint)
            })?;
        let probe = match raw.probe {
            RawName::Text(name) if name.is_empty() || name.len() > 47 => {
                let what = "the name of a probe has 1 to 47 bytes".to_owned();
                return Err(wrong(what, ""));
            }
            RawName::Text(name) => ProbeName::Name(name),
            RawName::Number(number) => ProbeName::Id(u16::try_from(number).map_err(|_| {
                let what = format!("`{number}` is no number of a probe");
                wrong(what, "from 0 to 65535, or its name")
            })?),
        };
        let values = kind.values();
        let value = match raw.value {
            None => Some(values[0]),
            Some(value) => {
                let value = value.to_string();
                values.iter().copied().find(|(name, _)| *name == value)
            }
        };
        let (value, field) = value.ok_or_else(|| {
            let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
            let hint = format!("it has: {}", names.join(", "));
            wrong(format!("a probe {} has no such value", kind.name()), &hint)
        })?;
        let default = match kind {
            ProbeKind::Cnt => "sum",
            ProbeKind::Tpt if value == "executions" => "rate",
            _ => "mean",
        };
        let take = take.unwrap_or(default);
        let take = Aggregate::of(take).ok_or_else(|| {
            let what = format!("`{take}` is nothing that can be taken from records of a probe");
            wrong(
                what,
                "sum, rate, mean, median, min, max, or p99 and the like",
            )
        })?;
        // A record of these tells of many executions at once.
        let is_possible = match (kind.has_totals(), take) {
            (false, _) | (true, Aggregate::Sum | Aggregate::Rate) => true,
            (true, Aggregate::Mean) => value == "duration",
            (true, _) => false,
        };
        if !is_possible {
            let what = format!(
                "records of {} tell how much there was only in all",
                kind.name()
            );
            let hint = "take = \"sum\" or \"rate\", of the duration of TPT also \"mean\"; LAT knows each execution";
            return Err(wrong(what, hint));
        }
        if raw.every == Some(0) || raw.every == Some(u32::MAX) {
            return Err(wrong("`every` is 1 or more".to_owned(), ""));
        }
        let unit = match (kind.is_duration(field), take) {
            (true, Aggregate::Rate) => "",
            (true, _) => "s",
            (false, Aggregate::Rate) => "1/s",
            (false, _) => "",
        };
        let every = raw.every;
        let metric = Self {
            kind,
            probe,
            field,
            take,
            every,
        };
        Ok((metric, unit))
    }
}

/// A probe has one switch.
pub(super) fn agree(metrics: &BTreeMap<String, Metric>) -> Result<(), (String, String)> {
    let mut known: BTreeMap<_, (&String, Option<u32>)> = BTreeMap::new();
    for (name, metric) in metrics {
        if let Source::Probe(probe) = &metric.source {
            let (first, every) =
                *(known.entry((probe.kind, &probe.probe))).or_insert((name, probe.every));
            if every != probe.every {
                return Err((name.clone(), first.clone()));
            }
        }
    }
    Ok(())
}
