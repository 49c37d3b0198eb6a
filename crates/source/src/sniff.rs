//! Recognises a trace format by the first bytes of a file.

/// A format that a file begins like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// CTF metadata (a file called `metadata`): TSDL text, TSDL packets or CTF 2 JSON.
    CtfMetadata,
    /// A `trace.dat` file of trace-cmd.
    TraceDat,
    /// Not one that is read here.
    Unknown,
}

/// Recognises a file by its first bytes (64 are enough for every format here).
pub fn sniff(head: &[u8]) -> Format {
    const TSDL_PACKET_MAGIC: u32 = 0x75d1_1d57;
    if head.starts_with(b"\x17\x08\x44tracing") {
        return Format::TraceDat;
    }
    if let Some(first) = head.first_chunk::<4>()
        && [u32::from_le_bytes(*first), u32::from_be_bytes(*first)].contains(&TSDL_PACKET_MAGIC)
    {
        return Format::CtfMetadata;
    }
    let text = head
        .strip_prefix(b"\x1e")
        .unwrap_or(head)
        .trim_ascii_start();
    if head.starts_with(b"/* CTF") || (head.starts_with(b"\x1e") && text.starts_with(b"{")) {
        return Format::CtfMetadata;
    }
    Format::Unknown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_their_first_bytes() {
        let check = |head: &[u8], expected| assert_eq!(sniff(head), expected, "{head:?}");
        check(b"\x17\x08\x44tracing6\0", Format::TraceDat);
        check(b"\x57\x1d\xd1\x75rest", Format::CtfMetadata);
        check(b"\x75\xd1\x1d\x57rest", Format::CtfMetadata);
        check(b"/* CTF 1.8 */\n", Format::CtfMetadata);
        check(b"\x1e\n{\"type\":\"preamble\"}", Format::CtfMetadata);
        check(b"{}", Format::Unknown);
        check(b"", Format::Unknown);
    }
}
