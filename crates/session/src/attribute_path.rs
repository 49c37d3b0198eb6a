//! Paths of attributes of the state history: `[HOST/]threads/TID/WHAT` and `[HOST/]cpus/CPU/WHAT`; written and
//! taken apart here and nowhere else. The history itself knows no hosts, threads or processors.

use std::fmt;

/// What an attribute is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A thread, by its number.
    Thread(i64),
    /// A processor, by its number.
    Cpu(u32),
}

/// A path of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttributePath<'text> {
    /// The host's name; `None` where there is only one.
    pub host: Option<&'text str>,
    /// Whose attribute it is.
    pub subject: Subject,
    /// What it tells: `state`, `name`, `thread` …
    pub what: &'text str,
}

impl<'text> AttributePath<'text> {
    /// Takes a path apart; `None` where it is none of these.
    pub fn parse(path: &'text str) -> Option<Self> {
        let mut parts = path.rsplitn(4, '/');
        let (what, number, kind) = (parts.next()?, parts.next()?, parts.next()?);
        let subject = match kind {
            "threads" => Subject::Thread(number.parse().ok()?),
            "cpus" => Subject::Cpu(number.parse().ok()?),
            _ => return None,
        };
        Some(Self {
            host: parts.next(),
            subject,
            what,
        })
    }
}

impl fmt::Display for AttributePath<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(host) = self.host {
            write!(formatter, "{host}/")?;
        }
        let what = self.what;
        match self.subject {
            Subject::Thread(thread) => write!(formatter, "threads/{thread}/{what}"),
            Subject::Cpu(cpu) => write!(formatter, "cpus/{cpu}/{what}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_apart_as_they_are_written() {
        for path in [
            "threads/315/state",
            "cpus/3/thread",
            "shop/threads/-1/name",
            "a/b/cpus/0/thread",
        ] {
            let parsed = AttributePath::parse(path).unwrap();
            assert_eq!(parsed.to_string(), path);
        }
        let parsed = AttributePath::parse("a/b/threads/7/request").unwrap();
        assert_eq!(parsed.host, Some("a/b"));
        assert_eq!(
            (parsed.subject, parsed.what),
            (Subject::Thread(7), "request")
        );
        for other in [
            "",
            "state",
            "threads/state",
            "threads/x/state",
            "disks/1/state",
            "cpus/-1/thread",
        ] {
            assert_eq!(AttributePath::parse(other), None, "{other}");
        }
    }
}
