//! What a recording says of the command line that was recorded: all of it but what looks like a password, as recordings
//! are passed on. Not a parser of shells or of any program's options: it goes by names.

use std::borrow::Cow;

/// Stands for what is not told.
const HIDDEN: &str = "***";
/// What is in the name of an option, a variable or a header whose value is hidden.
const SECRETS: [&str; 8] = [
    "pass",
    "secret",
    "token",
    "masterauth",
    "apikey",
    "api-key",
    "api_key",
    "authorization",
];
/// With what such a name may end (`REDISCLI_AUTH=`, `MYSQL_PWD=`).
const LAST_WORDS: [&str; 2] = ["auth", "pwd"];
/// Words of Redis that stand before a password without being an option, and before how many words that may be one:
/// `AUTH` may have a user's name first.
const BEFORE_SECRETS: [(&str, u8); 4] = [
    ("requirepass", 1),
    ("masterauth", 1),
    ("auth", 2),
    ("auth2", 2),
];
/// Programs whose `-a` is a password.
const CLIENTS: [&str; 4] = [
    "redis-cli",
    "redis-benchmark",
    "valkey-cli",
    "valkey-benchmark",
];
/// Options before a user and password, of curl and the like: `me:password`.
const BEFORE_USERS: [&str; 3] = ["-u", "-A", "--user"];
const QUOTES: [char; 2] = ['"', '\''];

/// These words, passwords in them hidden; a word may be a script that holds others.
pub(crate) fn without_secrets<'a>(words: impl IntoIterator<Item = Cow<'a, str>>) -> Vec<String> {
    let mut reader = Reader::default();
    let words = words.into_iter();
    words.map(|word| reader.word_without(&word)).collect()
}

#[derive(Default)]
struct Reader {
    /// So many of the next words are what the one before names.
    secrets: u8,
    /// The next word may be a user and password.
    is_user: bool,
    /// What ends the secret whose first part is hidden, in a script.
    closes: Option<char>,
    /// All of the word is hidden from here on.
    is_rest: bool,
    /// A client of Redis has been named.
    is_client: bool,
    /// What a user of Redis may do is told, passwords among it.
    is_of_user: bool,
    /// The next word is a script.
    is_script: bool,
}

impl Reader {
    fn word_without(&mut self, word: &str) -> String {
        let is_script = std::mem::take(&mut self.is_script);
        // `-c` and what shells let stand before it.
        let options = word.strip_prefix('-');
        self.is_script = options.is_some_and(|options| {
            options.ends_with('c') && options.bytes().all(|byte| byte.is_ascii_lowercase())
        });
        if self.secrets > 0 && !word.starts_with("--") {
            self.secrets -= 1;
            return HIDDEN.to_owned();
        }
        (self.closes, self.is_rest) = (None, false);
        if let Some((name, _)) = word.split_once('=')
            && !is_script
            && !name.contains(char::is_whitespace)
            && names_a_secret(name)
        {
            return format!("{name}={HIDDEN}");
        }
        let parts = word.split_inclusive(char::is_whitespace);
        parts.map(|part| self.part_without(part)).collect()
    }

    /// `part` may end with white space.
    fn part_without(&mut self, part: &str) -> String {
        let text = part.trim_end();
        if self.is_rest {
            return String::new();
        }
        if text.is_empty() {
            return part.to_owned();
        }
        let space = &part[text.len()..];
        let bare = text.trim_matches(QUOTES);
        if let Some(quote) = self.closes {
            self.closes = (!text.contains(quote)).then_some(quote);
            return String::new();
        }
        let is_user = std::mem::take(&mut self.is_user);
        // A command ends with its line, and before what connects it to another one.
        let is_next = bare.starts_with("--") || text.starts_with([';', '&', '|', '<', '>', ')']);
        if self.secrets > 0 && !is_next {
            let is_end = text.ends_with([';', '&', '|', ')']) || space.contains('\n');
            self.secrets = if is_end { 0 } else { self.secrets - 1 };
            self.begin_quoted(text);
            return format!("{HIDDEN}{space}");
        }
        self.secrets = 0;
        let program = bare.rsplit('/').next().unwrap_or_default();
        self.is_client |= CLIENTS.contains(&program);
        self.is_of_user |= bare.eq_ignore_ascii_case("setuser");
        if self.is_of_user && bare.len() > 1 && bare.starts_with(['>', '<', '#', '!']) {
            return format!("{}{HIDDEN}{space}", &bare[..1]);
        }
        if let Some((name, value)) = text.split_once('=') {
            if names_a_secret(name) && !value.is_empty() {
                self.begin_quoted(value);
                return format!("{name}={HIDDEN}{space}");
            }
        } else if let Some(shown) = self.header_without(text) {
            return match self.is_rest {
                true => shown,
                false => shown + space,
            };
        } else {
            let is_option = bare.starts_with('-') && names_a_secret(bare);
            let is_word = |(word, _): &&(&str, u8)| bare.eq_ignore_ascii_case(word);
            let named = BEFORE_SECRETS.iter().find(is_word);
            self.secrets = named.map_or(0, |(_, words)| *words);
            if is_option || (self.is_client && bare == "-a") {
                self.secrets = 1;
            }
            self.is_user = BEFORE_USERS.contains(&bare);
        }
        if let Some((user, password)) = bare.split_once(':')
            && is_user
            && !password.starts_with("//")
            && !password.bytes().all(|byte| byte.is_ascii_digit())
        {
            return format!("{user}:{HIDDEN}{space}");
        }
        format!("{}{space}", without_user(text))
    }

    /// A header of HTTP that names a secret, and the like (`pass:…`). Its value is what follows, to the end of the quoted.
    fn header_without(&mut self, text: &str) -> Option<String> {
        let (name, value) = text.split_once(':')?;
        let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        if !names_a_secret(name) || value.starts_with("//") || is_number {
            return None;
        }
        self.begin_quoted(text);
        if !text.starts_with(QUOTES) {
            self.is_rest = value.is_empty();
        }
        Some(format!("{name}:{HIDDEN}"))
    }

    /// What is hidden begins here, and ends where its quotes do.
    fn begin_quoted(&mut self, text: &str) {
        let quote = text.chars().next().filter(|first| QUOTES.contains(first));
        self.closes = quote.filter(|quote| !text[1..].contains(*quote));
    }
}

fn names_a_secret(name: &str) -> bool {
    // Where the shell is.
    if name == "PWD" || name == "OLDPWD" {
        return false;
    }
    let name = name.to_ascii_lowercase();
    let last = name.rsplit(['_', '-']).next().unwrap_or_default();
    // `--auth` alone is what some servers ask for.
    SECRETS.iter().any(|secret| name.contains(secret))
        || (LAST_WORDS.contains(&last) && name != "--auth")
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
    fn of_many_words_in_a_value_none_is_told() {
        check(
            &["env", "PASSWORD=S S", "app", "--token=S S 'S", "x"],
            &["env", "PASSWORD=***", "app", "--token=***", "x"],
        );
        check(
            &["sh", "-ec", "PASSWORD='S S' REDISCLI_AUTH=S app a; cd $PWD"],
            &["sh", "-ec", "PASSWORD=*** REDISCLI_AUTH=*** app a; cd $PWD"],
        );
    }

    #[test]
    fn of_users_neither() {
        check(
            &["redis-cli", "auth", "me", "S"],
            &["redis-cli", "auth", "***", "***"],
        );
        check(
            &["redis-cli", "ACL", "SETUSER", "me", "on", ">S", "~*"],
            &["redis-cli", "ACL", "SETUSER", "me", "on", ">***", "~*"],
        );
        check(
            &[
                "sh",
                "-c",
                "redis-cli auth S; redis-cli auth me S\nredis-cli auth S && redis-cli get a",
            ],
            &[
                "sh",
                "-c",
                "redis-cli auth *** redis-cli auth *** ***\nredis-cli auth *** && redis-cli get a",
            ],
        );
        check(
            &["curl", "-u", "me:S", "http://host:1/x"],
            &["curl", "-u", "me:***", "http://host:1/x"],
        );
    }

    #[test]
    fn of_headers_neither() {
        check(
            &["curl", "-H", "Authorization: Bearer S", "-H", "Host: a b"],
            &["curl", "-H", "Authorization:***", "-H", "Host: a b"],
        );
        check(
            &[
                "sh",
                "-c",
                "curl -H 'X-Api-Key: S S' http://host; openssl -passin pass:S -x",
            ],
            &[
                "sh",
                "-c",
                "curl -H 'X-Api-Key:*** http://host; openssl -passin *** -x",
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
            "-u",
            "1000:1000",
            "PWD=/x",
            "token-store:80",
            "--auth",
            "--fork",
        ];
        check(&line, &line);
    }
}
