//! Whose connections the descriptors of a server are, by looks at `/proc`: an address is told for the time in which a
//! descriptor was the same socket at both ends of it.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Instant;

use slowpath_model::ProcessId;

use crate::processes;

/// So many are told of at a look, in turn where there are more.
const MOST: usize = 256;
/// `TCP_ESTABLISHED` of the kernel.
const ESTABLISHED: &str = "01";

/// What was seen of the connections of one server.
#[derive(Debug)]
pub(super) struct Sockets {
    process: ProcessId,
    seen: BTreeMap<i32, Seen>,
    /// The descriptor after which telling goes on.
    last: i32,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    inode: u64,
    since: Instant,
    /// The two ends; `None`: no established connection.
    ends: Option<Ends>,
}

/// The server's end, and the other one.
type Ends = (SocketAddr, SocketAddr);

impl Sockets {
    pub(super) fn of(process: ProcessId) -> Self {
        Self {
            process,
            seen: BTreeMap::new(),
            last: -1,
        }
    }

    /// What is known of those that are what they were at the look before, as the recorder's marks say it.
    pub(super) fn look(&mut self) -> Vec<String> {
        let begin = Instant::now();
        let before = self.inodes();
        let is_new = |(fd, inode): (&i32, &u64)| {
            let known = self.seen.get(fd);
            known.is_none_or(|seen| seen.inode != *inode)
        };
        let connections = match before.iter().any(is_new) {
            true => connections(self.process),
            false => BTreeMap::new(),
        };
        let after = self.inodes();
        self.seen
            .retain(|fd, seen| after.get(fd) == Some(&seen.inode));
        let known: Vec<(i32, Seen)> = self.seen.iter().map(|(fd, seen)| (*fd, *seen)).collect();
        for (fd, inode) in before {
            let is_same = after.get(&fd) == Some(&inode);
            if is_same {
                self.seen.entry(fd).or_insert(Seen {
                    inode,
                    since: begin,
                    ends: connections.get(&inode).copied(),
                });
            }
        }
        self.marks(&known, begin)
    }

    fn inodes(&self) -> BTreeMap<i32, u64> {
        let files = processes::open_files(self.process).into_iter();
        let sockets = files.filter_map(|file| {
            let inode = file.path.strip_prefix("socket:[")?.strip_suffix(']')?;
            Some((file.fd, inode.parse().ok()?))
        });
        sockets.collect()
    }

    fn marks(&mut self, known: &[(i32, Seen)], until: Instant) -> Vec<String> {
        let told = known
            .iter()
            .filter_map(|(fd, seen)| Some((*fd, seen.ends?, seen.since)));
        let told: Vec<(i32, Ends, Instant)> = told.collect();
        let begin = told.partition_point(|(fd, ..)| *fd <= self.last);
        let in_turn = told[begin..].iter().chain(&told[..begin]).take(MOST);
        let mut marks = Vec::new();
        for (fd, (own, peer), since) in in_turn {
            self.last = *fd;
            marks.push(format!(
                "slowpath_redis_socket pid={} fd={fd} peer={} peer_port={} own={} own_port={} since_ns={} until_ns={}",
                self.process,
                peer.ip(),
                peer.port(),
                own.ip(),
                own.port(),
                since.elapsed().as_nanos(),
                until.elapsed().as_nanos(),
            ));
        }
        marks
    }
}

/// The established connections of the network that a process is in, by the number of their socket.
fn connections(process: ProcessId) -> BTreeMap<u64, Ends> {
    let tables = ["tcp", "tcp6"].map(|name| {
        let path = format!("/proc/{process}/net/{name}");
        fs::read_to_string(path).unwrap_or_default()
    });
    let lines = tables.iter().flat_map(|table| table.lines());
    lines.filter_map(connection).collect()
}

/// Of a line of `/proc/net/tcp` or `tcp6` (proc_pid_net(5)): number, own address, other address, state, …, and as the
/// tenth word the socket.
fn connection(line: &str) -> Option<(u64, Ends)> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [_, own, peer, ESTABLISHED, _, _, _, _, _, inode, ..] = words[..] else {
        return None;
    };
    Some((inode.parse().ok()?, (address(own)?, address(peer)?)))
}

/// `0100007F:1F90`: words of 32 bits in the machine's order, and the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |place: usize| {
        let word = address.get(8 * place..8 * place + 8)?;
        Some(u32::from_str_radix(word, 16).ok()?.to_ne_bytes())
    };
    let words: Option<Vec<[u8; 4]>> = (0..address.len() / 8).map(word).collect();
    let ip = match words?.as_flattened() {
        four if four.len() == 4 => IpAddr::V4(Ipv4Addr::from_octets(four.try_into().ok()?)),
        all => IpAddr::V6(Ipv6Addr::from_octets(all.try_into().ok()?)),
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_what_the_kernel_lists() {
        let line = "   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 4711 1 x";
        let (inode, (own, peer)) = connection(line).expect("a connection");
        assert_eq!(inode, 4711);
        assert_eq!(own.to_string(), "127.0.0.1:8080");
        assert_eq!(peer.to_string(), "127.0.0.1:50000");
        let listens = line.replace(" 01 ", " 0A ");
        assert_eq!(connection(&listens), None);
        let v6 = address("00000000000000000000000001000000:18EB").expect("an address");
        assert_eq!(v6.to_string(), "[::1]:6379");
        assert_eq!(connection("  sl  local_address rem_address   st"), None);
    }

    #[test]
    fn a_connection_is_told_at_the_second_look() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
        let there = std::net::TcpStream::connect(listener.local_addr().expect("bound"));
        let there = there.expect("connected");
        let here = listener.accept().expect("accepted");
        let mut sockets = Sockets::of(ProcessId(std::process::id() as i32));
        let port = format!(" peer_port={} ", here.1.port());
        let tells = |marks: Vec<String>| marks.iter().any(|mark| mark.contains(&port));
        assert!(!tells(sockets.look()));
        assert!(tells(sockets.look()));
        drop(there);
        drop(here);
        assert!(!tells(sockets.look()));
    }
}
