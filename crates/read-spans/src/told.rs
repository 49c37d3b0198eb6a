//! What a span tells of the process that made it, of the call that it stands for and of the code: from attributes, by the
//! names that OpenTelemetry's conventions give them, or gave them before they were stable. Names of attributes stop here.
//! Nothing is derived from a span's name.

use std::borrow::Cow;

use crate::{AttributeValue, Span};

/// The process that made a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToldProcess<'span> {
    /// Its number, as it has it itself: in a container, not the host's.
    pub pid: u32,
    /// With what it was started, as the attribute has it; [`command_line`] makes one text of it.
    pub command: Option<&'span str>,
}

/// What a client asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToldCall<'span> {
    /// `GET` and the URL, whole.
    pub http: Option<(&'span str, &'span str)>,
    /// `/service/method` of a remote procedure.
    pub procedure: Option<String>,
    /// What a data store was asked.
    pub query: Option<ToldQuery<'span>>,
}

/// A question to a data store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToldQuery<'span> {
    /// `SELECT`, `find`.
    pub operation: &'span str,
    /// The database.
    pub database: &'span str,
    /// The table, collection or index, where it is a single one.
    pub collection: &'span str,
    /// The query; values may be left out of it.
    pub text: &'span str,
}

impl Span {
    /// The process that made it, where it tells its number.
    pub fn told_process(&self) -> Option<ToldProcess<'_>> {
        let pid = match self.attribute(&["process.pid"])? {
            AttributeValue::Integer(number) => u32::try_from(*number).ok()?,
            AttributeValue::Text(text) => text.parse().ok()?,
            _ => return None,
        };
        let command = self.text(&["process.command_args", "process.command_line"]);
        Some(ToldProcess { pid, command })
    }

    /// The call that it stands for, as its client tells it.
    pub fn told_call(&self) -> ToldCall<'_> {
        let or_empty = |keys| self.text(keys).unwrap_or_default();
        let method = or_empty(&["http.request.method", "http.method"]);
        let url = self.text(&["url.full", "http.url"]);
        let procedure = self.text(&["rpc.method"]).map(|method| {
            let service = or_empty(&["rpc.service"]);
            match service {
                // Newer conventions have both in one.
                "" => format!("/{method}"),
                service => format!("/{service}/{method}"),
            }
        });
        let query = ToldQuery {
            operation: or_empty(&["db.operation.name", "db.operation"]),
            database: or_empty(&["db.namespace", "db.name"]),
            collection: or_empty(&[
                "db.collection.name",
                "db.sql.table",
                "db.mongodb.collection",
                "db.elasticsearch.path_parts.index",
            ]),
            text: or_empty(&["db.query.text", "db.statement"]),
        };
        ToldCall {
            http: url.map(|url| (method, url)),
            procedure,
            query: Some(query).filter(|query| *query != ToldQuery::default()),
        }
    }

    /// The method that it stands for: `package.Class.method`.
    pub fn told_function(&self) -> Option<Cow<'_, str>> {
        if let Some(whole) = self.text(&["code.function.name"]) {
            return Some(Cow::Borrowed(whole));
        }
        let (class, method) = (
            self.text(&["code.namespace"])?,
            self.text(&["code.function"])?,
        );
        Some(Cow::Owned(format!("{class}.{method}")))
    }

    fn attribute(&self, keys: &[&str]) -> Option<&AttributeValue> {
        keys.iter().find_map(|key| {
            let mut attributes = self.attributes.iter();
            let found = attributes.find(|attribute| &*attribute.key == *key);
            found.map(|attribute| &attribute.value)
        })
    }

    fn text(&self, keys: &[&str]) -> Option<&str> {
        match self.attribute(keys)? {
            AttributeValue::Text(text) | AttributeValue::Json(text) => Some(text),
            _ => None,
        }
    }
}

/// A command with its arguments as one text, blanks between: it may be told as a list.
pub fn command_line(told: &str) -> Cow<'_, str> {
    match serde_json::from_str::<Vec<String>>(told) {
        Ok(arguments) => Cow::Owned(arguments.join(" ")),
        Err(_) => Cow::Borrowed(told),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Collected, ReadOptions, read_spans};

    /// The one span of an OTLP document with these attributes.
    fn span(attributes: &[(&str, &str)], of_process: &str) -> Span {
        let attributes: Vec<String> = (attributes.iter())
            .map(|(key, text)| format!(r#"{{"key":"{key}","value":{{"stringValue":"{text}"}}}}"#))
            .collect();
        let document = format!(
            r#"{{"resourceSpans":[{{"resource":{{"attributes":[{of_process}]}},"scopeSpans":[{{"spans":[{{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708","startTimeUnixNano":"1","endTimeUnixNano":"2","attributes":[{}]}}]}}]}}]}}"#,
            attributes.join(",")
        );
        let mut read = Collected::default();
        read_spans(
            document.as_bytes(),
            "made up",
            ReadOptions::default(),
            &mut read,
        );
        assert_eq!(read.diagnostics, []);
        read.spans.pop().expect("a span")
    }

    #[test]
    fn a_process_is_told_by_number_and_command() {
        let told = span(
            &[],
            r#"{"key":"process.pid","value":{"intValue":"71"}},{"key":"process.command_args","value":{"arrayValue":{"values":[{"stringValue":"java"},{"stringValue":"-jar"},{"stringValue":"shop.jar"}]}}}"#,
        );
        let process = told.told_process().expect("it is told");
        assert_eq!(process.pid, 71);
        assert_eq!(
            process.command.map(command_line).as_deref(),
            Some("java -jar shop.jar")
        );
        assert_eq!(command_line("java -jar shop.jar"), "java -jar shop.jar");
        assert_eq!(span(&[("process.id", "71")], "").told_process(), None);
    }

    #[test]
    fn calls_are_told_by_old_names_and_new_ones() {
        let http = |attributes: &[(&str, &str)]| {
            let told = span(attributes, "");
            let call = told.told_call();
            (call.http).map(|(method, url)| format!("{method} {url}"))
        };
        let new = [("http.request.method", "GET"), ("url.full", "http://t/1")];
        let old = [("http.method", "GET"), ("http.url", "http://t/1")];
        assert_eq!(http(&new).as_deref(), Some("GET http://t/1"));
        assert_eq!(http(&old), http(&new));
        assert_eq!(http(&[("http.method", "GET")]), None);

        let procedure = |attributes: &[(&str, &str)]| span(attributes, "").told_call().procedure;
        let old = [("rpc.service", "shop.Rates"), ("rpc.method", "Get")];
        assert_eq!(procedure(&old).as_deref(), Some("/shop.Rates/Get"));
        assert_eq!(
            procedure(&[("rpc.method", "shop.Rates/Get")]),
            procedure(&old)
        );

        let query = |attributes: &[(&str, &str)]| {
            let told = span(attributes, "");
            let query = told.told_call().query;
            query.map(|query| [query.operation, query.collection, query.text].join(";"))
        };
        let new = [
            ("db.operation.name", "SELECT"),
            ("db.collection.name", "tickets"),
            ("db.query.text", "select ?"),
        ];
        let old = [
            ("db.operation", "SELECT"),
            ("db.sql.table", "tickets"),
            ("db.statement", "select ?"),
        ];
        assert_eq!(query(&new).as_deref(), Some("SELECT;tickets;select ?"));
        assert_eq!(query(&old), query(&new));
        assert_eq!(query(&[]), None);
    }

    #[test]
    fn code_is_told_by_old_names_and_new_ones() {
        let new = span(&[("code.function.name", "shop.Planner.one")], "");
        let old = span(
            &[("code.namespace", "shop.Planner"), ("code.function", "one")],
            "",
        );
        assert_eq!(new.told_function().as_deref(), Some("shop.Planner.one"));
        assert_eq!(old.told_function(), new.told_function());
        assert_eq!(span(&[("code.function", "one")], "").told_function(), None);
    }
}
