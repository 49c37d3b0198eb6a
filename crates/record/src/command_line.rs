//! What a recording says of the command line that was recorded: all of it but what looks like a password, as recordings
//! are passed on. Not a parser of shells or of any program's options: it goes by names.

use std::borrow::Cow;

/// Stands for what is not told.
const HIDDEN: &str = "***";
/// What is in the name of an option, or of a variable, whose value is hidden.
const SECRETS: [&str; 7] = [
    "pass",
    "secret",
    "token",
    "masterauth",
    "apikey",
    "api-key",
    "api_key",
];
/// Words of Redis that stand before a password without being an option.
const BEFORE_SECRETS: [&str; 3] = ["requirepass", "masterauth", "auth"];
/// Programs whose `-a` is a password.
const CLIENTS: [&str; 4] = [
    "redis-cli",
    "redis-benchmark",
    "valkey-cli",
    "valkey-benchmark",
];

/// These words, passwords in them hidden; a word may be a script that holds others.
pub(crate) fn without_secrets<'a>(words: impl IntoIterator<Item = Cow<'a, str>>) -> Vec<String> {
    let mut reader = Reader::default();
    let words = words.into_iter();
    words.map(|word| reader.word_without(&word)).collect()
}

#[derive(Default)]
struct Reader {
    /// The next word is what the one before names.
    is_secret: bool,
    /// What ends the secret whose first part is hidden, in a script.
    closes: Option<char>,
    /// A client of Redis has been named.
    is_client: bool,
}

impl Reader {
    fn word_without(&mut self, word: &str) -> String {
        if self.is_secret && !word.starts_with("--") {
            self.is_secret = false;
            return HIDDEN.to_owned();
        }
        self.closes = None;
        let parts = word.split_inclusive(char::is_whitespace);
        parts.map(|part| self.part_without(part)).collect()
    }

    /// `part` may end with white space.
    fn part_without(&mut self, part: &str) -> String {
        let text = part.trim_end();
        if text.is_empty() {
            return part.to_owned();
        }
        let space = &part[text.len()..];
        let quotes: &[char] = &['"', '\''];
        let bare = text.trim_matches(quotes);
        if let Some(quote) = self.closes {
            self.closes = (!text.contains(quote)).then_some(quote);
            return String::new();
        }
        if std::mem::take(&mut self.is_secret) && !bare.starts_with("--") {
            let quote = text.chars().next().filter(|first| quotes.contains(first));
            self.closes = quote.filter(|quote| !text[1..].contains(*quote));
            return format!("{HIDDEN}{space}");
        }
        let program = bare.rsplit('/').next().unwrap_or_default();
        self.is_client |= CLIENTS.contains(&program);
        if let Some((name, value)) = text.split_once('=') {
            if names_a_secret(name) && !value.is_empty() {
                return format!("{name}={HIDDEN}{space}");
            }
        } else {
            let is_option = bare.starts_with('-') && names_a_secret(bare);
            let is_word = BEFORE_SECRETS.contains(&bare.to_ascii_lowercase().as_str());
            self.is_secret = is_option || is_word || (self.is_client && bare == "-a");
        }
        format!("{}{space}", without_user(text))
    }
}

fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRETS.iter().any(|secret| name.contains(secret))
}

/// Without user and password of the URL in it.
fn without_user(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let authority = &rest[..rest.find('/').unwrap_or(rest.len())];
    match authority.rfind('@') {
        Some(end) if authority[..end].contains(':') => {
            format!("{scheme}://{HIDDEN}{}", &rest[end..])
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &[&str], told: &[&str]) {
        let words = line.iter().map(|word| Cow::Borrowed(*word));
        assert_eq!(without_secrets(words), told);
    }

    #[test]
    fn passwords_are_hidden() {
        check(
            &[
                "redis-server",
                "--requirepass",
                "S",
                "--port",
                "1",
                "--masterauth",
                "S",
            ],
            &[
                "redis-server",
                "--requirepass",
                "***",
                "--port",
                "1",
                "--masterauth",
                "***",
            ],
        );
        check(
            &["app", "--password=S", "--api-key", "S"],
            &["app", "--password=***", "--api-key", "***"],
        );
        check(
            &["env", "REDIS_PASSWORD=S", "A=b", "app"],
            &["env", "REDIS_PASSWORD=***", "A=b", "app"],
        );
        check(
            &["/usr/bin/redis-cli", "-a", "S", "get", "x"],
            &["/usr/bin/redis-cli", "-a", "***", "get", "x"],
        );
        check(
            &["app", "redis://me:S@host:1/0", "http://host/a@b"],
            &["app", "redis://***@host:1/0", "http://host/a@b"],
        );
    }

    #[test]
    fn also_in_scripts() {
        check(
            &[
                "sh",
                "-c",
                "redis-server --requirepass 'S' & sleep 1\n redis-cli  -a S config set requirepass \"S\"",
            ],
            &[
                "sh",
                "-c",
                "redis-server --requirepass *** & sleep 1\n redis-cli  -a *** config set requirepass ***",
            ],
        );
    }

    #[test]
    fn of_many_words_in_quotes_none_is_told() {
        check(
            &[
                "sh",
                "-c",
                "redis-cli -a 'S S' get a; app --token \"S S S\"; app -x 'b c'",
            ],
            &[
                "sh",
                "-c",
                "redis-cli -a *** get a; app --token *** app -x 'b c'",
            ],
        );
    }

    #[test]
    fn the_rest_is_told_as_it_is() {
        let line = [
            "app",
            "-a",
            "b",
            " two  words ",
            "",
            "--askpass",
            "--port",
            "a=b",
            "https://host:1/x",
        ];
        check(&line, &line);
    }
}
