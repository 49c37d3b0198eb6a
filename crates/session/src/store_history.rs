//! The models of data stores as attributes of the state history. What they tell is decided in crate `datastore`.

use std::io;

use slowpath_datastore::{ServerModel, Values};
use slowpath_history::{Builder, Interval, Value, Vocabulary, Writer};

use crate::HostRequests;
use crate::attribute_path::{AttributePath, Subject};
use crate::history::Names;
use crate::stores::HostStores;

/// Writes the models of all hosts; `hosts` are those whose threads and requests are in the history.
pub(crate) fn write(
    builder: &Builder,
    names: &mut Names,
    hosts: &[HostRequests],
    stores: &[HostStores],
) -> io::Result<()> {
    let mut writer = builder.writer();
    for of_host in stores {
        let name = of_host.name.as_str();
        // Only named where it could be confused with another.
        let is_the_only_one = match hosts {
            [] => stores.len() == 1,
            [host] => stores.len() == 1 && host.name == name,
            _ => false,
        };
        let host = (!is_the_only_one).then_some(name);
        for server in &of_host.servers {
            write_server(&mut writer, names, host, server)?;
        }
    }
    writer.close();
    Ok(())
}

fn write_server(
    writer: &mut Writer<'_>,
    names: &mut Names,
    host: Option<&str>,
    server: &ServerModel,
) -> io::Result<()> {
    let first_command = names.store_commands.len() as i64;
    let first_message = names.bus_messages.len() as i64;
    names.store_commands.extend_from_slice(&server.commands);
    names.bus_messages.extend_from_slice(&server.messages);
    for resource in &server.resources {
        let path = AttributePath {
            host,
            subject: Subject::Store {
                server: server.number,
                of: resource.of,
            },
            what: resource.what,
        };
        let attribute = names.attribute(path.to_string(), resource.values.vocabulary());
        let first = match resource.values {
            Values::Commands => first_command,
            Values::Messages => first_message,
            _ => 0,
        };
        for &(range, value) in &resource.intervals {
            writer.push(Interval {
                attribute,
                range,
                value: Value(first + value),
            })?;
        }
    }
    Ok(())
}

/// The names of values.
pub(crate) fn vocabularies(names: &mut Names) -> impl Iterator<Item = Vocabulary> {
    let fixed = Values::FIXED.map(|values| {
        let names = values.names().iter();
        (values, names.map(|name| (*name).to_owned()).collect())
    });
    let found = [
        (Values::Commands, std::mem::take(&mut names.store_commands)),
        (Values::Messages, std::mem::take(&mut names.bus_messages)),
    ];
    (fixed.into_iter().chain(found)).filter_map(|(values, names)| {
        Some(Vocabulary {
            name: values.vocabulary()?.to_owned(),
            names,
        })
    })
}
