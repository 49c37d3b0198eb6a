//! Packet index files, as LTTng writes them beside each stream (`index/STREAM.idx`).
//!
//! All numbers are big endian. Format: lttng-tools, `ctf-index.h`, versions 1.0 and 1.1. An index
//! is a hint: who uses it holds it against the stream.

/// Where a packet lies and what its context says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    /// In bytes.
    pub(crate) offset: u64,
    /// In bits.
    pub(crate) packet_bits: u64,
    /// In bits.
    pub(crate) content_bits: u64,
    /// In cycles.
    pub(crate) begin: u64,
    /// In cycles.
    pub(crate) end: u64,
    /// Running number of lost events.
    pub(crate) discarded: u64,
    /// The stream class's id.
    pub(crate) stream_class: u64,
    /// Running number of the packet, from version 1.1.
    pub(crate) sequence: Option<u64>,
}

impl IndexEntry {
    /// The first byte behind the packet.
    pub(crate) fn end(&self) -> u64 {
        self.offset.saturating_add(self.packet_bits / 8)
    }
}

const MAGIC: u32 = 0xc1f1_dcc1;
const HEADER_BYTES: usize = 16;
/// An entry of version 1.0.
const ENTRY_BYTES: usize = 7 * 8;

/// Reads an index file; the error says what is wrong with it.
pub(crate) fn parse(bytes: &[u8]) -> Result<Vec<IndexEntry>, String> {
    let word = |at: usize| -> u32 {
        let field = bytes
            .get(at..at + 4)
            .and_then(|field| field.try_into().ok());
        u32::from_be_bytes(field.unwrap_or_default())
    };
    if bytes.len() < HEADER_BYTES || word(0) != MAGIC {
        return Err("it does not begin like a packet index".to_owned());
    }
    if word(4) != 1 {
        return Err(format!("its version {} is not known", word(4)));
    }
    let size = word(12) as usize;
    if !(ENTRY_BYTES..=4096).contains(&size) {
        return Err(format!(
            "its entries have an impossible size of {size} bytes"
        ));
    }
    let entries = bytes[HEADER_BYTES..].chunks_exact(size);
    if !entries.remainder().is_empty() {
        return Err("its last entry is cut short".to_owned());
    }
    Ok(entries.map(|entry| read_entry(entry, word(8))).collect())
}

fn read_entry(entry: &[u8], minor: u32) -> IndexEntry {
    let number = |n: usize| -> Option<u64> {
        let field = entry.get(n * 8..n * 8 + 8)?;
        Some(u64::from_be_bytes(field.try_into().ok()?))
    };
    let known = |n| number(n).unwrap_or(0);
    IndexEntry {
        offset: known(0),
        packet_bits: known(1),
        content_bits: known(2),
        begin: known(3),
        end: known(4),
        discarded: known(5),
        stream_class: known(6),
        sequence: number(8).filter(|_| minor >= 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(minor: u32, entry: &[u64]) -> Vec<u8> {
        let header = [MAGIC, 1, minor, entry.len() as u32 * 8];
        let numbers = entry.iter().flat_map(|number| number.to_be_bytes());
        let header = header.iter().flat_map(|word| word.to_be_bytes());
        header.chain(numbers).collect()
    }

    #[test]
    fn both_versions_and_broken_ones() {
        let old = parse(&file(0, &[4096, 800, 700, 10, 20, 3, 1])).unwrap();
        assert_eq!(old[0].offset, 4096);
        assert_eq!((old[0].begin, old[0].end), (10, 20));
        assert_eq!(old[0].sequence, None);
        let new = parse(&file(1, &[0, 8, 8, 1, 2, 0, 0, 5, 42])).unwrap();
        assert_eq!(new[0].sequence, Some(42));
        let error = |bytes: &[u8]| parse(bytes).unwrap_err();
        assert!(error(b"nonsense").contains("does not begin"));
        assert!(error(&file(0, &[1, 2])).contains("impossible size"));
        let mut cut = file(1, &[0; 9]);
        cut.pop();
        assert!(error(&cut).contains("cut short"));
    }
}
