//! Paths of attributes of the state history: `[HOST/]threads/TID/WHAT`, `[HOST/]cpus/CPU/WHAT` and, of a data store,
//! `[HOST/]stores/SERVER/…/WHAT`; written and taken apart here and nowhere else. The history itself knows no hosts,
//! threads, processors or data stores.

use std::fmt;

use slowpath_concepts::StoreClientId;
use slowpath_datastore::Entity;
use slowpath_model::ThreadId;

/// What an attribute is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A thread, by its number.
    Thread(i64),
    /// A processor, by its number.
    Cpu(u32),
    /// Of a data store's server.
    Store {
        /// Which server of its host, from 1.
        server: u32,
        /// What of it.
        of: Entity,
    },
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
        let (of, what) = path.rsplit_once('/')?;
        let (host, subject) = store(of).or_else(|| kernel(of))?;
        Some(Self {
            host,
            subject,
            what,
        })
    }
}

type OfHost<'text> = (Option<&'text str>, Subject);

fn kernel(path: &str) -> Option<OfHost<'_>> {
    let (above, number) = path.rsplit_once('/')?;
    if let Some(host) = host_of("threads", above) {
        return Some((host, Subject::Thread(number.parse().ok()?)));
    }
    let host = host_of("cpus", above)?;
    Some((host, Subject::Cpu(number.parse().ok()?)))
}

fn store(path: &str) -> Option<OfHost<'_>> {
    let (server, of) = entity(path)?;
    let (above, number) = server.rsplit_once('/')?;
    let host = host_of("stores", above)?;
    let server = number.parse().ok()?;
    Some((host, Subject::Store { server, of }))
}

/// Before the descriptor of a connection to another node, as clients' connections have numbers, too.
const LINK: &str = "link-";

/// What is before it, the server's, and what of the server it is.
fn entity(path: &str) -> Option<(&str, Entity)> {
    let (above, last) = path.rsplit_once('/')?;
    match last {
        "bus" => return Some((above, Entity::Bus)),
        "event-loop" => return Some((above, Entity::EventLoop)),
        "clients" => return Some((above, Entity::Clients)),
        _ => {}
    }
    let client = || Some(StoreClientId(last.parse().ok()?));
    match above.rsplit_once('/') {
        Some((server, "connections")) if last.starts_with(LINK) => {
            Some((server, Entity::Link(last[LINK.len()..].parse().ok()?)))
        }
        Some((server, "connections")) => Some((server, Entity::Connection(client()?))),
        Some((server, "requests")) => Some((server, Entity::Request(client()?))),
        // Else it is a thread of the kernel.
        Some((server, "threads")) if server.contains('/') => {
            Some((server, Entity::Thread(ThreadId(last.parse().ok()?))))
        }
        _ => Some((path, Entity::Server)),
    }
}

/// What is before `kind` at the end of a path; `Some(None)` where nothing is.
fn host_of<'text>(kind: &str, path: &'text str) -> Option<Option<&'text str>> {
    match path.strip_suffix(kind)? {
        "" => Some(None),
        above => Some(Some(above.strip_suffix('/')?)),
    }
}

impl fmt::Display for AttributePath<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(host) = self.host {
            write!(formatter, "{host}/")?;
        }
        match self.subject {
            Subject::Thread(thread) => write!(formatter, "threads/{thread}")?,
            Subject::Cpu(cpu) => write!(formatter, "cpus/{cpu}")?,
            Subject::Store { server, of } => {
                write!(formatter, "stores/{server}")?;
                match of {
                    Entity::Server => {}
                    Entity::Connection(client) => write!(formatter, "/connections/{}", client.0)?,
                    Entity::Link(descriptor) => {
                        write!(formatter, "/connections/{LINK}{descriptor}")?;
                    }
                    Entity::Request(client) => write!(formatter, "/requests/{}", client.0)?,
                    Entity::Thread(thread) => write!(formatter, "/threads/{}", thread.0)?,
                    Entity::Bus => formatter.write_str("/bus")?,
                    Entity::EventLoop => formatter.write_str("/event-loop")?,
                    Entity::Clients => formatter.write_str("/clients")?,
                }
            }
        }
        write!(formatter, "/{}", self.what)
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
            "stores/1/process",
            "stores/2/connections/18446744073709551615/memory",
            "stores/2/connections/link-20/type",
            "stores/2/requests/7/data-structure",
            "stores/2/threads/315/operation",
            "shop/stores/1/bus/volume",
            "a/b/stores/12/event-loop/waiting",
            "stores/1/clients/read",
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
        let parsed = AttributePath::parse("a/stores/1/threads/7/request").unwrap();
        assert_eq!(parsed.host, Some("a"));
        assert!(matches!(
            parsed.subject,
            Subject::Store {
                server: 1,
                of: Entity::Thread(_)
            }
        ));
        for other in [
            "",
            "stores/process",
            "stores/1/connections/x/memory",
            "stores/1/connections/link-/type",
            "xstores/1/process",
            "connections/1/memory",
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
