//! `kernel/cgroups.jsonl` of a recording: the CPU quotas of control groups, as the recorder saw them.

use std::path::Path;

use serde::Deserialize;
use slowpath_kernel::quotas::{GroupQuotas, QuotaLimit, QuotaNote, QuotaSeen};
use slowpath_model::{Diagnostic, Nanoseconds, Timestamp};

use crate::state_dump::json_lines;
use crate::{Manifest, OpenedSource};

const FILE_NAME: &str = "cgroups.jsonl";

/// A group, a group that is gone, or the end of a look at all groups.
#[derive(Deserialize)]
struct Line {
    at_ns: i64,
    #[serde(flatten)]
    note: Note,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Note {
    Group {
        group: String,
        #[serde(default)]
        new: bool,
        quota_us: Option<u64>,
        period_us: u64,
        #[serde(default)]
        burst_us: u64,
        nr_periods: u64,
        nr_throttled: u64,
        throttled_ns: u64,
    },
    Gone {
        gone: String,
    },
    Look {
        #[serde(rename = "groups")]
        _groups: u64,
        #[serde(default)]
        more: bool,
    },
}

/// What the recorder noted of the trace in `folder`, by the clock of the trace; `None` where it noted
/// nothing. What cannot be understood of it is told.
pub(crate) fn read(
    folder: &Path,
    manifest: &Manifest,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Vec<(Timestamp, QuotaNote)>> {
    let lines: Vec<Line> = json_lines(
        &folder.join(FILE_NAME),
        manifest,
        "lines cannot be understood; CPU quotas of control groups may be missing",
        diagnostics,
    )?;
    let offset = manifest.monotonic_offset_ns();
    let notes = lines.into_iter().map(|line| {
        let at = Timestamp::from_ns(line.at_ns.saturating_add(offset));
        (at, note(line.note))
    });
    Some(notes.collect())
}

fn note(note: Note) -> QuotaNote {
    let micro = |time: u64| Nanoseconds(time.saturating_mul(1000));
    match note {
        Note::Group {
            group,
            new: is_new,
            quota_us,
            period_us,
            burst_us,
            nr_periods,
            nr_throttled,
            throttled_ns,
        } => {
            let limit = quota_us.map(|quota| QuotaLimit {
                quota: micro(quota),
                period: micro(period_us),
                burst: micro(burst_us),
            });
            let is_possible = |limit: &QuotaLimit| {
                limit.quota > Nanoseconds::ZERO && limit.period > Nanoseconds::ZERO
            };
            QuotaNote::Group {
                group,
                is_new,
                seen: QuotaSeen {
                    limit: limit.filter(is_possible),
                    periods: nr_periods,
                    throttled: nr_throttled,
                    stopped: Nanoseconds(throttled_ns),
                },
            }
        }
        Note::Gone { gone } => QuotaNote::Gone { group: gone },
        Note::Look { more, .. } => QuotaNote::Look { has_more: more },
    }
}

/// The quotas of a host with these traces; `None` where one of them does not tell all.
pub(crate) fn known(traces: &[&OpenedSource]) -> Option<GroupQuotas> {
    let noted: Option<Vec<Noted<'_>>> = (traces.iter())
        .filter(|trace| !trace.state_dump.is_empty() || trace.quota_notes.is_some())
        .map(|trace| Some((trace.begin(), trace.quota_notes.as_deref()?)))
        .collect();
    of_recordings(noted?)
}

/// When a trace begins, and what its recorder noted.
type Noted<'trace> = (Option<Timestamp>, &'trace [(Timestamp, QuotaNote)]);

/// What was noted of one time.
struct Together {
    begin: Timestamp,
    until: Timestamp,
    notes: Vec<(Timestamp, QuotaNote)>,
}

/// Recordings of one time are put together; what was counted between two that lie apart is of neither.
fn of_recordings(mut recordings: Vec<Noted<'_>>) -> Option<GroupQuotas> {
    recordings.retain(|(_, notes)| !notes.is_empty());
    recordings.sort_by_key(|(_, notes)| notes.iter().map(|(at, _)| *at).min());
    let mut together: Vec<Together> = Vec::new();
    for (begin, notes) in recordings {
        let first = notes.iter().map(|(at, _)| *at).min()?;
        let until = notes.iter().map(|(at, _)| *at).max()?;
        let begin = begin.unwrap_or(first);
        match together.last_mut() {
            Some(all) if first <= all.until => {
                all.notes.extend(notes.iter().cloned());
                all.until = until.max(all.until);
                all.begin = begin.min(all.begin);
            }
            _ => together.push(Together {
                begin,
                until,
                notes: notes.to_vec(),
            }),
        }
    }
    let mut all: Option<GroupQuotas> = None;
    for Together { begin, notes, .. } in together {
        let later = GroupQuotas::new(begin, notes)?;
        match &mut all {
            Some(all) => all.append(later),
            None => all = Some(later),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_between_two_recordings_is_of_neither() {
        let seconds = |at: i64| Timestamp::from_ns(at * 1_000_000_000);
        let seen = |at, throttled| {
            let group = QuotaNote::Group {
                group: "/a".to_owned(),
                is_new: false,
                seen: QuotaSeen {
                    limit: Some(QuotaLimit {
                        quota: Nanoseconds(10_000_000),
                        period: Nanoseconds(100_000_000),
                        burst: Nanoseconds::ZERO,
                    }),
                    periods: 1000 + throttled,
                    throttled,
                    stopped: Nanoseconds(throttled),
                },
            };
            let look = QuotaNote::Look { has_more: false };
            [(seconds(at), group), (seconds(at), look)]
        };
        let first = [seen(10, 100), seen(14, 140)].concat();
        let second = [seen(50, 400), seen(53, 420)].concat();
        // A snapshot has what the recording has.
        let snapshot = [seen(10, 100), seen(12, 120)].concat();
        let quotas = of_recordings(vec![
            (Some(seconds(50)), &second),
            (None, &snapshot),
            (Some(seconds(10)), &first),
        ]);
        let quotas = quotas.expect("looks");
        let throttled = quotas.steps("/a").iter().filter_map(|step| step.counted);
        assert_eq!(throttled.map(|of| of.throttled).sum::<u64>(), 60);
    }

    #[test]
    fn each_kind_of_line_is_understood_and_no_other() {
        let read = |text: &str| {
            let line: Result<Line, _> = serde_json::from_str(text);
            line.ok().map(|line| (line.at_ns, note(line.note)))
        };
        let group = r#"{"at_ns":7,"group":"/a","quota_us":2000,"period_us":200000,"nr_periods":9,"nr_throttled":8,"throttled_ns":7}"#;
        let seen = |limit| QuotaSeen {
            limit,
            periods: 9,
            throttled: 8,
            stopped: Nanoseconds(7),
        };
        let limit = QuotaLimit {
            quota: Nanoseconds(2_000_000),
            period: Nanoseconds(200_000_000),
            burst: Nanoseconds::ZERO,
        };
        let expected = |is_new, limit| {
            let note = QuotaNote::Group {
                group: "/a".to_owned(),
                is_new,
                seen: seen(limit),
            };
            Some((7, note))
        };
        assert_eq!(read(group), expected(false, Some(limit)));
        let new = group.replace("\"quota_us\":2000", "\"new\":true,\"quota_us\":null");
        assert_eq!(read(&new), expected(true, None));
        assert_eq!(
            read(r#"{"at_ns":8,"gone":"/a"}"#),
            Some((
                8,
                QuotaNote::Gone {
                    group: "/a".to_owned()
                }
            ))
        );
        assert_eq!(
            read(r#"{"at_ns":8,"groups":3}"#),
            Some((8, QuotaNote::Look { has_more: false }))
        );
        for wrong in [
            r#"{"at_ns":8}"#,
            r#"{"groups":3}"#,
            &group.replace("2000,", "-1,"),
            &group.replace("\"nr_periods\":9,", ""),
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
