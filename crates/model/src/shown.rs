//! Names from a trace as a terminal may have them.
//!
//! Programs choose the names of their threads and files, so these may hold anything: what moves the
//! cursor, changes colours, begins a new line or turns the direction of writing. JSON needs none of this; it has escapes
//! of its own.

use std::borrow::Cow;

/// The text with its control characters written out, for instance `\n` and `\u{1b}`.
pub fn shown(text: &str) -> Cow<'_, str> {
    escape(text, controls)
}

/// The same for a text of several lines: new lines and tabs stay.
pub fn shown_lines(text: &str) -> Cow<'_, str> {
    let is_harmful = |symbol: char| controls(symbol) && !matches!(symbol, '\n' | '\t');
    escape(text, is_harmful)
}

/// Whether it is a control character, also one of bidirectional text (Unicode Standard Annex #9) or of its lines.
fn controls(symbol: char) -> bool {
    symbol.is_control()
        || matches!(symbol, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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
            ("a\u{202e}cba", "a\\u{202e}cba", "a\\u{202e}cba"),
            ("\u{9b}2J\u{7f}", "\\u{9b}2J\\u{7f}", "\\u{9b}2J\\u{7f}"),
        ] {
            assert_eq!(shown(text), one_line);
            assert_eq!(shown_lines(text), lines);
        }
    }
}
