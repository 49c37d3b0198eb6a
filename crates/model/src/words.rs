//! Counts in words, as diagnostics and tables have them: one is not several.
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

#[test]
fn one_is_not_several() {
    let counted = |count: u64| counted(count, "span has", "spans have");
    assert_eq!(
        [0, 1, 2].map(counted),
        ["0 spans have", "1 span has", "2 spans have"]
    );
}
