//! Counts in words, as diagnostics and tables have them: one is not several; and words for a shell, in commands that are
//! proposed.
//!
//! Numbers keep their digits as they are; where long ones are to be read by people, `views` groups them.

use std::fmt::Display;

/// `count` of what is called `one`, and `several` where there is more or less than one.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(
    count: N,
    one: &str,
    several: &str,
) -> String {
    let what = if count == N::from(1) { one } else { several };
    format!("{count} {what}")
}

/// One word for a POSIX shell: as it is, or in quotation marks where a letter of it means something there.
pub fn shell_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./=:,+@%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[test]
fn words_for_a_shell() {
    assert_eq!(shell_word("--port=70"), "--port=70");
    assert_eq!(shell_word("it's $x"), r"'it'\''s $x'");
    assert_eq!(shell_word(""), "''");
}

#[test]
fn one_is_not_several() {
    let counted = |count: u64| counted(count, "span has", "spans have");
    assert_eq!(
        [0, 1, 2].map(counted),
        ["0 spans have", "1 span has", "2 spans have"]
    );
}
