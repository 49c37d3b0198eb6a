//! Whether a call that a client's span tells of goes to an endpoint of a report. Both are compared by what they name, part
//! by part; what either leaves open (a single thing's name, a host that a template does not have) matches anything.

use slowpath_read_spans::{ToldCall, ToldQuery};
use slowpath_read_transfers::Context;

/// An endpoint, with names in braces made alike: contexts with equal ones cannot be told apart by calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Endpoint {
    /// "GET"; empty: not known.
    method: String,
    /// What may be a URL, the path of a remote procedure, or names of tables, a collection or indices.
    target: String,
    /// Entities, of which a query may load several kinds.
    is_entity: bool,
}

impl Endpoint {
    /// That of a context; none where the agent does not know it.
    pub(crate) fn of(context: &Context) -> Option<Self> {
        let endpoint = &context.endpoint;
        (!endpoint.url.is_empty()).then(|| Self {
            method: endpoint.method.clone(),
            target: without_names(&endpoint.url),
            is_entity: context.by == "Hibernate",
        })
    }

    /// Whether `call` goes there.
    pub(crate) fn is_of(&self, call: &ToldCall<'_>) -> bool {
        let by_http = || {
            call.http.is_some_and(|(method, url)| {
                (self.method.is_empty() || self.method.eq_ignore_ascii_case(method))
                    && is_at(&self.target, url)
            })
        };
        let by_procedure =
            || self.method.is_empty() && call.procedure.as_ref() == Some(&self.target);
        let by_query = || call.query.is_some_and(|query| self.is_asked_by(&query));
        by_http() || by_procedure() || by_query()
    }

    fn is_asked_by(&self, query: &ToldQuery<'_>) -> bool {
        let verb = match query.operation {
            "" => first_word(query.text),
            told => told,
        };
        if self.method.is_empty() || !self.method.eq_ignore_ascii_case(verb) {
            return false;
        }
        let wanted: Vec<&str> = self.target.split(", ").collect();
        let in_text = tables(query.text);
        let is_same = |one: &&str, other: &str| one.eq_ignore_ascii_case(other);
        if !in_text.is_empty() {
            let all = wanted
                .iter()
                .all(|name| in_text.iter().any(|table| is_same(name, table)));
            let no_more = in_text.iter().all(|table| {
                wanted.iter().any(|name| is_same(name, table)) || is_given(table, query.text)
            });
            return all && (no_more || self.is_entity);
        }
        let whole = format!("{}.{}", query.database, query.collection);
        !query.collection.is_empty()
            && (self.target.eq_ignore_ascii_case(query.collection)
                || self.target.eq_ignore_ascii_case(&whole))
    }
}

/// `{name}` as `{}`.
fn without_names(url: &str) -> String {
    let mut made = String::new();
    let mut rest = url;
    while let Some((before, behind)) = rest.split_once('{')
        && let Some((_, after)) = behind.split_once('}')
    {
        made += before;
        made += "{}";
        rest = after;
    }
    made + rest
}

/// Whether `url` is one of those that `pattern` stands for. A pattern that is a path only, or begins with a name in braces,
/// leaves open what stands before.
fn is_at(pattern: &str, url: &str) -> bool {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else {
        return false;
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    if let Some((wanted_scheme, rest)) = pattern.split_once("://") {
        let (wanted_host, wanted_path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let host = without_default(scheme, host).to_ascii_lowercase();
        let wanted_host = without_default(wanted_scheme, wanted_host).to_ascii_lowercase();
        return wanted_scheme.eq_ignore_ascii_case(scheme)
            && fits(&wanted_host, &host)
            && is_path(wanted_path, path);
    }
    if let Some(rest) = pattern.strip_prefix("{}/") {
        return path
            .match_indices('/')
            .any(|(at, _)| is_path(rest, &path[at + 1..]));
    }
    pattern.starts_with('/') && is_path(pattern, path)
}

/// A host without user and without the port that its scheme has anyway.
fn without_default<'url>(scheme: &str, host: &'url str) -> &'url str {
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let port = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => "",
    };
    host.strip_suffix(port).unwrap_or(host)
}

fn is_path(pattern: &str, path: &str) -> bool {
    let (wanted, segments) = (pattern.split('/'), path.split('/'));
    wanted.clone().count() == segments.clone().count()
        && wanted
            .zip(segments)
            .all(|(wanted, segment)| fits(wanted, segment))
}

/// Whether `text` is `pattern` with something in place of each pair of braces.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((before, rest_of_pattern)) = pattern.split_once("{}") else {
        return pattern == text;
    };
    let (between, last) = rest_of_pattern
        .rsplit_once("{}")
        .map_or((None, rest_of_pattern), |(between, last)| {
            (Some(between), last)
        });
    // The first place of each part is as good as any later one.
    let mut rest = text.strip_prefix(before);
    for part in between.into_iter().flat_map(|between| between.split("{}")) {
        rest = rest.and_then(|rest| {
            let rest = after_one_letter(rest)?;
            Some(&rest[rest.find(part)? + part.len()..])
        });
    }
    rest.and_then(after_one_letter)
        .is_some_and(|rest| rest.ends_with(last))
}

fn after_one_letter(text: &str) -> Option<&str> {
    let mut letters = text.chars();
    letters.next().map(|_| letters.as_str())
}

fn first_word(query: &str) -> &str {
    let begin = query.find(|letter: char| letter.is_ascii_alphabetic());
    let rest = &query[begin.unwrap_or(query.len())..];
    let end = rest.find(|letter: char| !letter.is_ascii_alphabetic());
    &rest[..end.unwrap_or(rest.len())]
}

/// Whether a query gives the name to a part of its own, as by `WITH name (n) AS MATERIALIZED (`.
fn is_given(name: &str, query: &str) -> bool {
    let (query, name) = (query.to_ascii_lowercase(), name.to_ascii_lowercase());
    query.match_indices(&name).any(|(at, _)| {
        let is_within =
            |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$' | '.');
        let rest = query[at + name.len()..].trim_start_matches(['"', '`', ']']);
        let rest = match rest.trim_start().strip_prefix('(') {
            Some(columns) => columns.split_once(')').map_or("", |(_, rest)| rest),
            None => rest,
        };
        let named = rest.trim_start().strip_prefix("as");
        let how = named
            .and_then(|named| named.split_once('('))
            .map(|(how, _)| how.trim());
        !query[..at].ends_with(is_within)
            && matches!(how, Some("" | "materialized" | "not materialized"))
    })
}

/// The tables of a query, as the agent finds them: names after FROM and JOIN.
fn tables(query: &str) -> Vec<String> {
    let mut tables = Vec::new();
    let mut words = query.split_ascii_whitespace();
    while let Some(word) = words.next() {
        // As in `SELECT(…)FROM t`.
        let keyword = word
            .rsplit(|letter: char| !letter.is_ascii_alphabetic())
            .next();
        let is_before_table = keyword.is_some_and(|keyword| {
            keyword.eq_ignore_ascii_case("from") || keyword.eq_ignore_ascii_case("join")
        });
        let Some(next) = words.clone().next().filter(|_| is_before_table) else {
            continue;
        };
        let ends = |letter: char| {
            !(letter.is_alphanumeric() || matches!(letter, '_' | '$' | '.' | '"' | '`' | '[' | ']'))
        };
        let name = next.split(ends).next().unwrap_or_default();
        let name: String = name
            .chars()
            .filter(|letter| !matches!(letter, '"' | '`' | '[' | ']'))
            .collect();
        if !name.is_empty() {
            tables.push(name);
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(drawn: &str, is_entity: bool) -> Endpoint {
        let (method, target) = drawn.split_once(' ').unwrap_or(("", drawn));
        Endpoint {
            method: method.to_owned(),
            target: without_names(target),
            is_entity,
        }
    }

    #[test]
    fn a_url_is_at_an_endpoint() {
        let check = |drawn: &str, method: &str, url: &str, expected: bool| {
            let call = ToldCall {
                http: Some((method, url)),
                ..ToldCall::default()
            };
            assert_eq!(
                endpoint(drawn, false).is_of(&call),
                expected,
                "{drawn} {method} {url}"
            );
        };
        check(
            "GET http://t:81/tickets/{id}",
            "GET",
            "http://t:81/tickets/7",
            true,
        );
        check(
            "GET http://t:81/tickets/{id}",
            "get",
            "http://T:81/tickets/7?all#x",
            true,
        );
        check(
            "GET http://t:81/tickets/{id}",
            "POST",
            "http://t:81/tickets/7",
            false,
        );
        check(
            "GET http://t:81/tickets/{id}",
            "GET",
            "http://t:82/tickets/7",
            false,
        );
        check(
            "GET http://t:81/tickets/{id}",
            "GET",
            "https://t:81/tickets/7",
            false,
        );
        check(
            "GET http://t:81/tickets/{id}",
            "GET",
            "http://t:81/tickets/",
            false,
        );
        check(
            "GET http://t:81/tickets/{id}",
            "GET",
            "http://t:81/tickets/7/seat",
            false,
        );
        check(
            "GET http://t:81/tickets",
            "GET",
            "http://t:81/tickets",
            true,
        );
        check(
            "GET http://t:81/tickets",
            "GET",
            "http://t:81/tickets/7",
            false,
        );
        check(
            "GET http://t/a{x}b{y}.json",
            "GET",
            "http://t/a1b2b3.json",
            true,
        );
        check(
            "GET http://t/a{x}b{y}.json",
            "GET",
            "http://t/ab3.json",
            false,
        );
        check("GET http://t", "GET", "http://t:80", true);
        check("GET https://t:443/a", "GET", "https://me:x@t/a", true);
        check("GET http://{host}:81/a", "GET", "http://t:81/a", true);
        check("GET /tickets/{id}", "GET", "http://t:81/tickets/7", true);
        check(
            "GET {base}/tickets/{id}",
            "GET",
            "http://t:81/api/tickets/7",
            true,
        );
        check(
            "GET {base}/tickets/{id}",
            "GET",
            "http://t:81/tickets/7/seat",
            false,
        );
        check(" http://t/tickets", "PUT", "http://t/tickets", true);
        check("SELECT tickets", "SELECT", "http://t/tickets", false);
        check("GET http://t/{unclosed", "GET", "http://t/{unclosed", true);
    }

    #[test]
    fn a_procedure_is_at_an_endpoint() {
        let call = ToldCall {
            procedure: Some("/shop.Rates/Get".to_owned()),
            ..ToldCall::default()
        };
        assert!(endpoint("/shop.Rates/Get", false).is_of(&call));
        assert!(!endpoint("/shop.Rates/Put", false).is_of(&call));
    }

    #[test]
    fn a_query_is_at_an_endpoint() {
        let check = |drawn: &str, is_entity: bool, told: [&str; 4], expected: bool| {
            let [operation, database, collection, text] = told;
            let query = ToldQuery {
                operation,
                database,
                collection,
                text,
            };
            let call = ToldCall {
                query: Some(query),
                ..ToldCall::default()
            };
            let is_of = endpoint(drawn, is_entity).is_of(&call);
            assert_eq!(is_of, expected, "{drawn} {told:?}");
        };
        let joined = "select t.a from (select 1) x, \"shop\".tickets t\n left JOIN [seats] on ?";
        check(
            "SELECT tickets",
            false,
            ["SELECT", "shop", "tickets", ""],
            true,
        );
        check("SELECT tickets", false, ["select", "", "TICKETS", ""], true);
        check(
            "SELECT tickets",
            false,
            ["", "", "", "select * from tickets where id=?"],
            true,
        );
        check("SELECT tickets", false, ["SELECT", "", "seats", ""], false);
        check(
            "DELETE tickets",
            false,
            ["SELECT", "", "tickets", ""],
            false,
        );
        check(
            "SELECT a, b",
            false,
            ["SELECT", "", "", "SELECT 1 FROM b JOIN a ON ?"],
            true,
        );
        check(
            "SELECT a",
            false,
            ["SELECT", "", "", "SELECT 1 FROM b JOIN a ON ?"],
            false,
        );
        check(
            "SELECT a",
            true,
            ["SELECT", "", "", "SELECT 1 FROM b JOIN a ON ?"],
            true,
        );
        check(
            "SELECT c",
            true,
            ["SELECT", "", "", "SELECT 1 FROM b JOIN a ON ?"],
            false,
        );
        check("SELECT seats", true, ["SELECT", "", "", joined], true);
        let given = "WITH old AS (SELECT * FROM a), \"b\" (n) AS MATERIALIZED (SELECT 1 FROM a) SELECT * FROM old JOIN \"b\" ON ?";
        check("WITH a", false, ["", "", "", given], true);
        check("WITH b", false, ["", "", "", given], false);
        check(
            "WITH a",
            false,
            [
                "WITH",
                "",
                "",
                "WITH old AS (SELECT * FROM a) SELECT * FROM old JOIN c ON ?",
            ],
            false,
        );
        check(
            "find shop.tickets",
            false,
            ["find", "shop", "tickets", ""],
            true,
        );
        check(
            "find shop.tickets",
            false,
            ["find", "bank", "tickets", ""],
            false,
        );
        check(
            "search tickets",
            false,
            ["search", "", "tickets", "{\"query\":{}}"],
            true,
        );
        check("SELECT tickets", false, ["SELECT", "", "", ""], false);
    }
}
