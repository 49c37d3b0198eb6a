//! CTF 2 metadata.
use super::draft::DraftTrace;
use super::{Fault, Notes};
pub(super) fn is_in(text: &[u8]) -> bool {
    text.first() == Some(&0x1e)
}
pub(super) fn read(_text: &[u8], _notes: &mut Notes) -> Result<DraftTrace, Fault> {
    Err(Fault::new(0, "CTF 2 is not read yet"))
}
