//! The established TCP connections of a network and where it listens for more, as the kernel's `sock_diag` lists them
//! (sock_diag(7)): with what has come in over each, which `/proc/net/tcp` lacks.

use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// One end of a connection, that of the network which was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The number of its socket; 0: nobody has it open.
    pub inode: u32,
    /// This end.
    pub own: SocketAddr,
    /// The other one.
    pub peer: SocketAddr,
    /// It waits for connections: there is no other end.
    pub listens: bool,
    /// Bytes that were read of it, where the kernel tells how many came in.
    pub read: Option<u64>,
}

/// A network that is asked for its connections.
#[derive(Debug)]
pub struct Network(OwnedFd);

const NETLINK_HEADER: usize = 16;
const DONE: u16 = 3;
const FAILED: u16 = 2;
/// `TCP_LISTEN` of the kernel.
const LISTENS: u8 = 10;

impl Network {
    /// The network of the process whose folder in `/proc` this is.
    ///
    /// # Errors
    /// Where it may not be entered, or the kernel has no `sock_diag`.
    pub fn of(process: &Path) -> io::Result<Self> {
        let network = File::open(process.join("ns/net"))?;
        // The socket is of the network of the thread that makes it: one of its own is moved there.
        let made = std::thread::spawn(move || {
            let is_own = || -> io::Result<bool> {
                let own = rustix::fs::stat("/proc/thread-self/ns/net")?;
                let other = rustix::fs::fstat(&network)?;
                Ok((own.st_dev, own.st_ino) == (other.st_dev, other.st_ino))
            };
            if !is_own()? {
                move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
            }
            let socket = socket_with(
                AddressFamily::NETLINK,
                SocketType::DGRAM,
                SocketFlags::CLOEXEC,
                Some(netlink::SOCK_DIAG),
            )?;
            Ok(Self(socket))
        });
        made.join()
            .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    }

    /// Those that are established now, and the sockets that listen for more.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn connections(&self) -> io::Result<Vec<Connection>> {
        let mut all = Vec::new();
        for family in [AddressFamily::INET, AddressFamily::INET6] {
            self.dump(family.as_raw() as u8, &mut all)?;
        }
        Ok(all)
    }

    fn dump(&self, family: u8, into: &mut Vec<Connection>) -> io::Result<()> {
        send(&self.0, &request(family), SendFlags::empty())?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let (_, length) = recv(&self.0, &mut buffer[..], RecvFlags::empty())?;
            let mut rest = &buffer[..length];
            if rest.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            while let Some((kind, message, behind)) = next_message(rest) {
                match kind {
                    DONE => return Ok(()),
                    FAILED => {
                        let number = i32_at(message, 0).unwrap_or(0);
                        return Err(io::Error::from_raw_os_error(number.saturating_neg()));
                    }
                    _ => into.extend(connection(message)),
                }
                rest = behind;
            }
        }
    }
}

/// `inet_diag_req_v2` for what a family has in these states, with `tcp_info`, behind its `nlmsghdr`.
fn request(family: u8) -> [u8; 72] {
    const BY_FAMILY: u16 = 20;
    const REQUEST_AND_DUMP: u16 = 0x301;
    const TCP: u8 = 6;
    const WITH_INFO: u8 = 1 << 1;
    const ESTABLISHED_OR_LISTENING: u32 = 1 << 1 | 1 << LISTENS;
    let mut bytes = [0; 72];
    bytes[0..4].copy_from_slice(&72_u32.to_ne_bytes());
    bytes[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&REQUEST_AND_DUMP.to_ne_bytes());
    bytes[16..19].copy_from_slice(&[family, TCP, WITH_INFO]);
    bytes[20..24].copy_from_slice(&ESTABLISHED_OR_LISTENING.to_ne_bytes());
    bytes
}

/// The kind of the first message, what it holds, and what follows it.
fn next_message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32_at(bytes, 0)? as usize;
    let message = bytes.get(NETLINK_HEADER..length)?;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let behind = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((kind, message, behind))
}

/// Of an `inet_diag_msg` and its attributes.
fn connection(message: &[u8]) -> Option<Connection> {
    const ATTRIBUTES: usize = 72;
    const INFO: u16 = 2;
    /// Of `tcpi_bytes_received` in `tcp_info`, since Linux 4.1.
    const BYTES_RECEIVED: usize = 128;
    let family = *message.first()?;
    let address = |port: usize, at: usize| -> Option<SocketAddr> {
        let port = u16::from_be_bytes(message.get(port..port + 2)?.try_into().ok()?);
        let ip: IpAddr = match AddressFamily::from_raw(family.into()) {
            AddressFamily::INET => {
                let bytes: [u8; 4] = message.get(at..at + 4)?.try_into().ok()?;
                Ipv4Addr::from(bytes).into()
            }
            _ => {
                let bytes: [u8; 16] = message.get(at..at + 16)?.try_into().ok()?;
                Ipv6Addr::from(bytes).into()
            }
        };
        Some(SocketAddr::new(ip, port))
    };
    let unread = u64::from(u32_at(message, 56)?);
    let mut attributes = message.get(ATTRIBUTES..).unwrap_or_default();
    let mut received = None;
    while let Some(head) = attributes.get(..4) {
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        if u16::from_ne_bytes([head[2], head[3]]) == INFO {
            let bytes = attributes.get(4 + BYTES_RECEIVED..4 + BYTES_RECEIVED + 8);
            let bytes = bytes.filter(|_| length >= 4 + BYTES_RECEIVED + 8);
            received = bytes.and_then(|bytes| Some(u64::from_ne_bytes(bytes.try_into().ok()?)));
        }
        let next = length.max(4).next_multiple_of(4);
        attributes = attributes.get(next..).unwrap_or_default();
    }
    Some(Connection {
        own: address(4, 8)?,
        peer: address(6, 24)?,
        listens: *message.get(1)? == LISTENS,
        inode: u32_at(message, 68)?,
        read: received.and_then(|received| received.checked_sub(unread)),
    })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    Some(u32_at(bytes, at)?.cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn what_was_read_of_a_connection_is_told() -> io::Result<()> {
        let network = Network::of(Path::new("/proc/self"))?;
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                continue;
            };
            let mut there = TcpStream::connect(listener.local_addr()?)?;
            let (mut here, peer) = listener.accept()?;
            there.write_all(&[7; 1000])?;
            here.read_exact(&mut [0; 300])?;
            let file = File::from(OwnedFd::from(here.try_clone()?));
            let inode = file.metadata()?.ino();
            let all = network.connections()?;
            let found = all.iter().find(|one| u64::from(one.inode) == inode);
            let expected = Connection {
                inode: inode as u32,
                own: here.local_addr()?,
                peer,
                listens: false,
                read: Some(300),
            };
            assert_eq!(found, Some(&expected));
            let own = listener.local_addr()?;
            assert!(all.iter().any(|one| one.listens && one.own == own));
        }
        Ok(())
    }

    #[test]
    fn what_is_cut_off_is_no_connection() {
        let message = [2; 72];
        assert!(connection(&message).is_some());
        for length in 0..72 {
            assert_eq!(connection(&message[..length]), None, "{length}");
        }
        assert_eq!(next_message(&[200, 0, 0, 0, 1, 1]), None);
        assert_eq!(next_message(&[0; 16]), None);
    }
}
