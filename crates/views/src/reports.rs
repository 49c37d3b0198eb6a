//! Reports of analyses, one per host, as one document.

use serde_json::Value;

/// One document out of one per host: rows get a `host` key, the window is that of all.
pub fn merge_documents(mut documents: Vec<(&str, Value)>) -> Value {
    if documents.len() == 1 {
        return documents.remove(0).1;
    }
    let mut merged = serde_json::Map::new();
    for (host, document) in documents {
        let Value::Object(document) = document else {
            continue;
        };
        for (key, value) in document {
            let known = merged.remove(&key);
            let value = match (key.as_str(), known, value) {
                ("begin_ns", Some(known), value) if known.as_i64() < value.as_i64() => known,
                ("end_ns", Some(known), value) if known.as_i64() > value.as_i64() => known,
                (_, known, Value::Array(mut rows)) => {
                    for row in &mut rows {
                        row["host"] = Value::from(host);
                    }
                    let mut all = match known {
                        Some(Value::Array(all)) => all,
                        _ => Vec::new(),
                    };
                    all.append(&mut rows);
                    Value::Array(all)
                }
                (_, _, value) => value,
            };
            merged.insert(key, value);
        }
    }
    Value::Object(merged)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_of_several_hosts_say_whose_they_are() {
        let document = |begin: i64, cpu: i64| json!({"begin_ns": begin, "end_ns": begin + 5, "cpus": [{"cpu": cpu}]});
        let merged = merge_documents(vec![("a", document(10, 0)), ("b", document(7, 1))]);
        let expected = json!({
            "begin_ns": 7,
            "end_ns": 15,
            "cpus": [{"cpu": 0, "host": "a"}, {"cpu": 1, "host": "b"}],
        });
        assert_eq!(merged, expected);
        assert_eq!(merge_documents(vec![("a", document(1, 2))]), document(1, 2));
    }
}
