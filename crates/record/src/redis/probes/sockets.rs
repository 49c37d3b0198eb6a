//! Whose connections the descriptors of a server are, by looks at them: an address is told for the time in which a
//! descriptor was the same socket at both ends of it, and with it how much of the connection had been read.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::time::Instant;

use slowpath_model::ProcessId;
use slowpath_platform::connections::{Connection, Network};

use crate::processes;

/// So many are told of at a look, in turn where there are more.
const MOST: usize = 1024;

/// What was seen of the connections of one server.
#[derive(Debug)]
pub(super) struct Sockets {
    process: ProcessId,
    network: Network,
    /// By descriptor: the number of its socket, and when that was seen first.
    seen: BTreeMap<i32, (u32, Instant)>,
    /// The descriptor after which telling goes on.
    last: i32,
}

impl Sockets {
    /// None yet.
    ///
    /// # Errors
    /// Where the network of the process cannot be asked.
    pub(super) fn of(process: ProcessId) -> io::Result<Self> {
        Ok(Self {
            process,
            network: Network::of(&PathBuf::from(format!("/proc/{process}")))?,
            seen: BTreeMap::new(),
            last: -1,
        })
    }

    /// What is known of them, as the recorder's marks say it.
    pub(super) fn look(&mut self) -> Vec<String> {
        let begin = Instant::now();
        let before = self.inodes();
        let asked = Instant::now();
        // Where the kernel does not answer, there is nothing to tell this time.
        let connections = self.network.connections().unwrap_or_default();
        let answered = Instant::now();
        let after = self.inodes();
        let connections: BTreeMap<u32, Connection> = (connections.into_iter())
            .map(|connection| (connection.inode, connection))
            .collect();
        let listening = after.values().filter_map(|inode| connections.get(inode));
        let listening: BTreeSet<u16> = (listening.filter(|one| one.listens))
            .map(|one| one.own.port())
            .collect();
        let known = std::mem::take(&mut self.seen);
        let mut same = Vec::new();
        for (fd, inode) in before {
            if after.get(&fd) != Some(&inode) {
                continue;
            }
            let since = match known.get(&fd) {
                Some((known, since)) if *known == inode => *since,
                _ => begin,
            };
            self.seen.insert(fd, (inode, since));
            if let Some(connection) = connections.get(&inode) {
                same.push((fd, *connection, since));
            }
        }
        self.marks(&same, &listening, asked, answered)
    }

    fn inodes(&self) -> BTreeMap<i32, u32> {
        let files = processes::open_files(self.process).into_iter();
        let sockets = files.filter_map(|file| {
            let inode = file.path.strip_prefix("socket:[")?.strip_suffix(']')?;
            Some((file.fd, inode.parse().ok()?))
        });
        sockets.collect()
    }

    fn marks(
        &mut self,
        same: &[(i32, Connection, Instant)],
        listening: &BTreeSet<u16>,
        asked: Instant,
        answered: Instant,
    ) -> Vec<String> {
        let begin = same.partition_point(|(fd, ..)| *fd <= self.last);
        let in_turn = same[begin..].iter().chain(&same[..begin]).take(MOST);
        let mut marks = Vec::new();
        for (fd, connection, since) in in_turn {
            self.last = *fd;
            let Connection {
                own, peer, read, ..
            } = connection;
            let mut more = read.map_or(String::new(), |read| format!(" read={read}"));
            if connection.listens {
                more = " listens=1".to_owned();
            } else if !listening.contains(&own.port()) {
                // The server has opened it, as a replica opens that to its primary.
                more += " outgoing=1";
            }
            marks.push(format!(
                "slowpath_redis_socket pid={} fd={fd} peer={} peer_port={} own={} own_port={} since_ns={} asked_ns={} \
                 answered_ns={}{more}",
                self.process,
                peer.ip(),
                peer.port(),
                own.ip(),
                own.port(),
                since.elapsed().as_nanos(),
                asked.elapsed().as_nanos(),
                answered.elapsed().as_nanos(),
            ));
        }
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_connection_is_told_as_long_as_it_is_there() -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let there = TcpStream::connect(listener.local_addr()?)?;
        let (here, peer) = listener.accept()?;
        let mut sockets = Sockets::of(ProcessId(std::process::id() as i32))?;
        let port = format!(" peer_port={} ", peer.port());
        let tells = |marks: Vec<String>| marks.iter().any(|mark| mark.contains(&port));
        assert!(tells(sockets.look()));
        drop((here, there));
        assert!(!tells(sockets.look()));
        Ok(())
    }

    #[test]
    fn of_many_connections_all_are_told_in_turn() -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let mut open = Vec::new();
        for _ in 0..MOST {
            let there = TcpStream::connect(listener.local_addr()?)?;
            open.push((there, listener.accept()?));
        }
        let mut sockets = Sockets::of(ProcessId(std::process::id() as i32))?;
        sockets.look();
        let told: Vec<String> = (0..4).flat_map(|_| sockets.look()).collect();
        for (_, (_, peer)) in &open {
            let port = format!(" peer_port={} ", peer.port());
            assert!(told.iter().any(|mark| mark.contains(&port)), "{port}");
        }
        Ok(())
    }
}
