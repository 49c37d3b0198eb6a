//! Metadata in packets: the text cut into pieces, each behind a header (CTF 1.8.3, §7.1).
//!
//! Only joins the pieces; what they say is the parsers' matter.

use super::Fault;

const MAGIC: u32 = 0x75d1_1d57;
const HEADER_BYTES: usize = 37;

/// Whether the file begins with a metadata packet, in either byte order.
pub(super) fn are_in(bytes: &[u8]) -> bool {
    byte_order(bytes).is_some()
}

type ReadU32 = fn([u8; 4]) -> u32;

fn byte_order(bytes: &[u8]) -> Option<ReadU32> {
    let magic = *bytes.first_chunk::<4>()?;
    let orders: [ReadU32; 2] = [u32::from_le_bytes, u32::from_be_bytes];
    orders.into_iter().find(|read| read(magic) == MAGIC)
}

/// The text that the packets carry. A fault's place is a byte of the file.
pub(super) fn join(bytes: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut text = Vec::with_capacity(bytes.len());
    let mut first_uuid = None;
    let mut at = 0;
    while at < bytes.len() {
        let packet = &bytes[at..];
        let fault = |offset: usize, message: String| Err(Fault::new(at + offset, message));
        let Some(read) = byte_order(packet) else {
            let begin = super::excerpt(&packet[..packet.len().min(4)]);
            return fault(
                0,
                format!("expected the magic number of a metadata packet, found {begin}"),
            );
        };
        let Some(header) = packet.first_chunk::<HEADER_BYTES>() else {
            let rest = packet.len();
            return fault(
                0,
                format!(
                    "the header of a metadata packet needs {HEADER_BYTES} bytes, {rest} are left"
                ),
            );
        };
        let size = |offset: usize| {
            let field = [
                header[offset],
                header[offset + 1],
                header[offset + 2],
                header[offset + 3],
            ];
            read(field) as usize
        };
        let (content_bits, packet_bits) = (size(24), size(28));
        let [compression, encryption, checksum, major, minor] =
            [32, 33, 34, 35, 36].map(|byte| header[byte]);
        if ![(1, 8), (2, 0)].contains(&(major, minor)) {
            return fault(
                35,
                format!("the metadata packet is of CTF {major}.{minor}; 1.8 and 2.0 can be read"),
            );
        }
        for (offset, scheme, name) in [
            (32, compression, "compressed"),
            (33, encryption, "encrypted"),
            (34, checksum, "check-summed"),
        ] {
            if scheme != 0 {
                return fault(
                    offset,
                    format!("the metadata packet is {name} by an unknown scheme ({scheme})"),
                );
            }
        }
        let whole = packet_bits % 8 == 0 && content_bits % 8 == 0;
        let (content, total) = (content_bits / 8, packet_bits / 8);
        if !whole || content < HEADER_BYTES || content > total {
            return fault(
                24,
                format!(
                    "a metadata packet of {packet_bits} bits cannot have {content_bits} bits of content"
                ),
            );
        }
        if total > packet.len() {
            let rest = packet.len();
            return fault(
                28,
                format!(
                    "the metadata packet has {total} bytes but the file ends after {rest} of them"
                ),
            );
        }
        let uuid = &header[4..20];
        if *first_uuid.get_or_insert(uuid) != uuid {
            return fault(4, "the metadata packet belongs to another trace: its UUID differs from the first packet's".to_owned());
        }
        text.extend_from_slice(&packet[HEADER_BYTES..content]);
        at += total;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(order: fn(u32) -> [u8; 4], text: &str, padding: usize) -> Vec<u8> {
        let content = (HEADER_BYTES + text.len()) as u32;
        let mut bytes = Vec::new();
        bytes.extend(order(MAGIC));
        bytes.extend([7; 16]);
        bytes.extend([0; 4]);
        bytes.extend(order(content * 8));
        bytes.extend(order((content + padding as u32) * 8));
        bytes.extend([0, 0, 0, 1, 8]);
        bytes.extend(text.bytes());
        bytes.resize(bytes.len() + padding, 0);
        bytes
    }

    #[test]
    fn pieces_are_joined_in_either_byte_order() {
        for order in [u32::to_le_bytes, u32::to_be_bytes] {
            let mut bytes = packet(order, "tra", 5);
            bytes.extend(packet(order, "ce {", 0));
            assert!(are_in(&bytes));
            assert_eq!(join(&bytes).unwrap(), b"trace {");
        }
    }

    #[test]
    fn damage_is_named_with_its_byte() {
        let check = |damage: &dyn Fn(&mut Vec<u8>), at: usize, message: &str| {
            let mut bytes = packet(u32::to_le_bytes, "trace", 3);
            bytes.extend(packet(u32::to_le_bytes, "env", 0));
            damage(&mut bytes);
            let fault = join(&bytes).unwrap_err();
            assert_eq!(fault.at, at);
            assert!(fault.message.contains(message), "{}", fault.message);
        };
        check(&|bytes| bytes[45] = 0, 45, "expected the magic number");
        check(
            &|bytes| bytes.truncate(60),
            45,
            "needs 37 bytes, 15 are left",
        );
        check(&|bytes| bytes[36] = 9, 35, "CTF 1.9");
        check(&|bytes| bytes[32] = 1, 32, "compressed");
        check(&|bytes| bytes[24] = 1, 24, "cannot have");
        check(&|bytes| bytes[29] = 9, 28, "the file ends after");
        check(&|bytes| bytes[49] = 1, 49, "another trace");
    }
}
