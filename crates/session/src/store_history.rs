//! The models of data stores as attributes of the state history. What they tell is decided in crate `datastore`.

use std::io;

use slowpath_datastore::{NOT_TOLD, ServerModel, Together, Values};
use slowpath_history::{AttributeId, Builder, Interval, Part, Value, Writer};

use crate::HostKernels;
use crate::attribute_path::{AttributePath, Subject};
use crate::history::Names;
use crate::stores::HostStores;

/// Names of values, as they are found.
#[derive(Default)]
struct Found {
    commands: Vec<String>,
    /// Of each command.
    request_types: Vec<String>,
    messages: Vec<String>,
}

/// Writes the models of all hosts. A host is only named where it could be confused with another, of these or of
/// `kernels`.
pub(crate) fn write(
    builder: &Builder,
    names: &mut Names,
    kernels: &[HostKernels<'_>],
    stores: &[HostStores],
) -> io::Result<()> {
    let mut writer = builder.writer();
    let mut found = Found::default();
    for of_host in stores {
        let name = of_host.name.as_str();
        let is_the_only_one = stores.len() == 1 && kernels.iter().all(|host| host.name == name);
        let host = (!is_the_only_one).then_some(name);
        for server in &of_host.servers {
            write_server(&mut writer, names, &mut found, host, server)?;
        }
    }
    writer.close();
    let fixed = Values::FIXED.map(|values| {
        let names = values.names().iter();
        (values, names.map(|name| (*name).to_owned()).collect())
    });
    let found = [
        (Values::Commands, found.commands),
        (Values::RequestTypes, found.request_types),
        (Values::Messages, found.messages),
    ];
    for (values, of_values) in fixed.into_iter().chain(found) {
        if let Some(name) = values.vocabulary() {
            names.vocabulary(name, of_values);
        }
    }
    Ok(())
}

fn write_server(
    writer: &mut Writer<'_>,
    names: &mut Names,
    found: &mut Found,
    host: Option<&str>,
    server: &ServerModel,
) -> io::Result<()> {
    let first_command = found.commands.len() as i64;
    let first_message = found.messages.len() as i64;
    let types = server.request_types().map(str::to_owned);
    found.request_types.extend(types);
    found.commands.extend_from_slice(&server.commands);
    found.messages.extend_from_slice(&server.messages);
    let first = |values| match values {
        Values::Commands | Values::RequestTypes => first_command,
        Values::Messages => first_message,
        _ => 0,
    };
    for together in &server.together {
        let mut packed = Packed::default();
        for resource in &together.resources {
            let path = AttributePath {
                host,
                subject: Subject::Store {
                    server: server.number,
                    of: resource.of,
                },
                what: resource.what,
            };
            let id = names.next_attribute();
            let part = packed.part(together, resource.column, first(resource.values), id);
            let vocabulary = resource.values.vocabulary();
            names.add(path.to_string(), vocabulary, Some(part));
        }
        packed.write(writer, together)?;
    }
    Ok(())
}

/// What of the values of resources that change together is written as one.
#[derive(Default)]
struct Packed {
    columns: Vec<Column>,
}

struct Column {
    column: usize,
    first: i64,
    part: Part,
}

impl Packed {
    /// Where an attribute finds the values of a column, which are counted from `first`. They are its own intervals'
    /// where there is no room left beside others.
    fn part(&mut self, together: &Together, column: usize, first: i64, id: AttributeId) -> Part {
        let known = self
            .columns
            .iter()
            .find(|known| (known.column, known.first) == (column, first));
        if let Some(known) = known {
            return known.part;
        }
        let values = together.intervals.iter().map(|(_, told)| told[column]);
        let most = values.max().unwrap_or_default().saturating_add(first);
        let bits = Part::bits_for(most);
        let last = self.columns.last().map(|last| last.part);
        let beside = last.map(|last| Part {
            first_bit: last.first_bit + last.bits,
            bits,
            ..last
        });
        let part = beside.filter(|part| part.is_sound()).unwrap_or(Part {
            of: id,
            first_bit: 0,
            bits,
        });
        self.columns.push(Column {
            column,
            first,
            part,
        });
        part
    }

    fn write(&self, writer: &mut Writer<'_>, together: &Together) -> io::Result<()> {
        for columns in self.columns.chunk_by(|a, b| a.part.of == b.part.of) {
            for (range, told) in &together.intervals {
                let values = columns
                    .iter()
                    .filter(|column| told[column.column] > NOT_TOLD)
                    .map(|column| column.part.packed(column.first + told[column.column]));
                writer.push(Interval {
                    attribute: columns[0].part.of,
                    range: *range,
                    value: Value(values.sum()),
                })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use slowpath_datastore::{Entity, Resource};
    use slowpath_history::{History, Key};
    use slowpath_model::{TimeRange, Timestamp};

    use super::*;

    /// A client's number may be anything: where it leaves no room for others, both have intervals of their own.
    #[test]
    fn values_are_the_same_however_much_room_they_take() {
        for most in [1, (1 << 40) - 1, i64::MAX - 1] {
            let resource = |what, column| Resource {
                of: Entity::EventLoop,
                what,
                values: Values::Numbers,
                column,
            };
            let interval = |begin, told| {
                let range = [begin, begin + 5].map(Timestamp::from_ns);
                (TimeRange::new(range[0], range[1]), told)
            };
            let together = Together {
                resources: vec![resource("a", 0), resource("b", 1), resource("c", 0)],
                intervals: vec![
                    interval(0, [2, most, NOT_TOLD, NOT_TOLD]),
                    interval(5, [0, 0, NOT_TOLD, NOT_TOLD]),
                    interval(10, [NOT_TOLD, most, NOT_TOLD, NOT_TOLD]),
                ],
            };
            let folder = tempfile::tempdir().unwrap();
            let (target, key) = (folder.path().join("history"), Key("test".into()));
            let builder = Builder::create(&target).unwrap();
            let (mut names, mut writer) = (Names::default(), builder.writer());
            let server = ServerModel {
                number: 1,
                together: vec![together],
                commands: Vec::new(),
                messages: Vec::new(),
            };
            write_server(
                &mut writer,
                &mut names,
                &mut Found::default(),
                None,
                &server,
            )
            .unwrap();
            writer.close();
            builder
                .finish(&key, &names.attributes, &[], Vec::new())
                .unwrap();
            let history = History::open(&target, &key).unwrap();
            let told = |at| -> Vec<(&str, i64)> {
                let all = history.all_at(Timestamp::from_ns(at));
                all.map(|told| {
                    let path = &history.attributes()[told.attribute.0 as usize].path;
                    (
                        path.trim_start_matches("stores/1/event-loop/"),
                        told.value.0,
                    )
                })
                .collect()
            };
            assert_eq!(told(0), [("a", 2), ("b", most), ("c", 2)]);
            assert_eq!(told(5), [("a", 0), ("b", 0), ("c", 0)]);
            assert_eq!(told(10), [("b", most)]);
        }
    }
}
