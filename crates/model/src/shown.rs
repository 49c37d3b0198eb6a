//! Names from a trace as a terminal may have them.
//!
//! Programs choose the names of their threads and files, so these may hold anything: what moves the
//! cursor, changes colours or begins a new line. JSON needs none of this; it has escapes of its own.

use std::borrow::Cow;

/// The text with its control characters written out, for instance `\n` and `\u{1b}`.
pub fn shown(text: &str) -> Cow<'_, str> {
    escape(text, char::is_control)
}

/// The same for a text of several lines: new lines and tabs stay.
pub fn shown_lines(text: &str) -> Cow<'_, str> {
    let is_harmful = |symbol: char| symbol.is_control() && !matches!(symbol, '\n' | '\t');
    escape(text, is_harmful)
}

fn escape(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for symbol in text.chars() {
        match is_escaped(symbol) {
            true => escaped.extend(symbol.escape_default()),
            false => escaped.push(symbol),
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_written_out_and_nothing_else_is_touched() {
        for (text, one_line, lines) in [
            ("worker-3 ä \\", "worker-3 ä \\", "worker-3 ä \\"),
            ("b\nd", "b\\nd", "b\nd"),
            ("e\u{1b}[31mX", "e\\u{1b}[31mX", "e\\u{1b}[31mX"),
            ("\u{9b}2J\u{7f}", "\\u{9b}2J\\u{7f}", "\\u{9b}2J\\u{7f}"),
        ] {
            assert_eq!(shown(text), one_line);
            assert_eq!(shown_lines(text), lines);
        }
    }
}
