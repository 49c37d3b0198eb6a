//! Shell-like patterns for names: `*` is any run of characters, `?` any single one.

/// Whether `name` matches one of the patterns.
pub(crate) fn matches_any(patterns: &[String], name: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| matches(pattern.as_bytes(), name.as_bytes()))
}

fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut in_name) = (0, 0);
    // Where to go on when a later part does not fit: behind the last star, one character further.
    let mut retry: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                retry = Some((at + 1, in_name));
                at += 1;
            }
            Some(&byte) if byte == b'?' || byte == name[in_name] => {
                at += 1;
                in_name += 1;
            }
            _ => {
                let Some((star, begin)) = retry else {
                    return false;
                };
                retry = Some((star, begin + 1));
                (at, in_name) = (star, begin + 1);
            }
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::matches_any;

    #[test]
    fn stars_and_question_marks() {
        let check = |pattern: &str, name: &str, expected| {
            assert_eq!(
                matches_any(&[pattern.to_owned()], name),
                expected,
                "{pattern} {name}"
            );
        };
        check("sched_*", "sched_switch", true);
        check("*switch", "sched_switch", true);
        check("s*d_?witch", "sched_switch", true);
        check("sched", "sched_switch", false);
        check("*", "", true);
        check("a*b*c", "aXbXbXc", true);
        check("a*b*c", "aXbXbX", false);
    }
}
