//! JSON whose texts are no Unicode: programs cut them within a character, or write another encoding.

/// What `{` … `}` would be with `\ufffd` in the place of each escaped half of a character (JavaScript cuts texts
/// between the two) and `?` in that of each byte that is no UTF-8. As many bytes as before; `None` where nothing
/// has to be replaced.
pub fn json_in_unicode(text: &[u8]) -> Option<Vec<u8>> {
    let mut mended = text.to_vec();
    let mut at = 0;
    for chunk in text.utf8_chunks() {
        let invalid = at + chunk.valid().len();
        at = invalid + chunk.invalid().len();
        mended[invalid..at].fill(b'?');
    }
    let mut at = 0;
    while let Some(escape) = backslash_from(&mended, at) {
        at = escape
            + match half_at(&mended, escape) {
                None => 2,
                Some(Half::None) => 6,
                Some(Half::First) if half_at(&mended, escape + 6) == Some(Half::Second) => 12,
                Some(Half::First | Half::Second) => {
                    mended[escape + 2..escape + 6].copy_from_slice(b"fffd");
                    6
                }
            };
    }
    (mended != text).then_some(mended)
}

fn backslash_from(text: &[u8], from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    Some(from + rest.iter().position(|byte| *byte == b'\\')?)
}

/// Which half of a character an escape stands for that UTF-16 has two words for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    None,
    First,
    Second,
}

/// Of `\uXXXX` there.
fn half_at(text: &[u8], at: usize) -> Option<Half> {
    let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let digits = str::from_utf8(digits).ok()?;
    let word = u16::from_str_radix(digits, 16).ok()?;
    Some(match word {
        0xd800..0xdc00 => Half::First,
        0xdc00..0xe000 => Half::Second,
        _ => Half::None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_character_is_replaced_and_nothing_moves() {
        let check = |text: &[u8], expected: Option<&[u8]>| {
            let mended = json_in_unicode(text);
            assert_eq!(mended.as_deref(), expected, "{}", text.escape_ascii());
        };
        check(r#"{"a":"é \ud83d\ude00 \u00e9 \\ud83d"}"#.as_bytes(), None);
        check(br#"["ab\ud83d"]"#, Some(br#"["ab\ufffd"]"#));
        check(br#"["\uDE00\ud83d"]"#, Some(br#"["\ufffd\ufffd"]"#));
        check(
            br#"["\ud83d\ud83d\ude00"]"#,
            Some(br#"["\ufffd\ud83d\ude00"]"#),
        );
        check(br#"["\ud83d\u0041"]"#, Some(br#"["\ufffd\u0041"]"#));
        check(b"[\"caf\xe9\", \"\xe2\x82\"]", Some(b"[\"caf?\", \"??\"]"));
        for cut in [&b"\\"[..], b"\\u", b"\\ud8", b"\\ud8\xff", b"\\u+12a", b""] {
            let mended = json_in_unicode(cut);
            assert!(mended.is_none_or(|mended| mended.len() == cut.len()));
        }
    }
}
