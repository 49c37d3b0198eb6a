//! Critical paths of requests as a table of columns: an Arrow IPC file or a Parquet file.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, UInt32Array};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::HostRequests;

/// Rows of a batch, about.
const BATCH_ROWS: usize = 65_536;

#[derive(Default)]
struct Rows {
    host: Vec<String>,
    trace_id: Vec<String>,
    span_id: Vec<String>,
    service: Vec<String>,
    operation: Vec<String>,
    begin_ns: Vec<i64>,
    end_ns: Vec<i64>,
    tid: Vec<i32>,
    comm: Vec<String>,
    state: Vec<&'static str>,
    depth: Vec<u32>,
    detail: Vec<String>,
    blocked_by_span_id: Vec<Option<String>>,
    /// With several hosts: where the state is, and when by that host's clock.
    state_host: Vec<String>,
    recorded_begin_ns: Vec<i64>,
    recorded_end_ns: Vec<i64>,
}

fn schema(several_hosts: bool) -> Schema {
    let column = |name: &str, kind: DataType| Field::new(name, kind, false);
    let text = |name: &str| column(name, DataType::Utf8);
    let mut columns = vec![
        text("host"),
        text("trace_id"),
        text("span_id"),
        text("service"),
        text("operation"),
        column("begin_ns", DataType::Int64),
        column("end_ns", DataType::Int64),
        column("tid", DataType::Int32),
        text("comm"),
        text("state"),
        column("depth", DataType::UInt32),
        text("detail"),
        Field::new("blocked_by_span_id", DataType::Utf8, true),
    ];
    if several_hosts {
        columns.extend([
            text("state_host"),
            column("recorded_begin_ns", DataType::Int64),
            column("recorded_end_ns", DataType::Int64),
        ]);
    }
    Schema::new(columns)
}

/// Writes a row for each segment of each chosen request's critical path as an Arrow IPC file; returns how
/// many.
///
/// # Errors
///
/// The output cannot be written.
pub fn write_arrow(output: impl Write, hosts: &[HostRequests<'_>]) -> io::Result<u64> {
    let schema = Arc::new(schema(hosts.len() > 1));
    let mut file = FileWriter::try_new(output, &schema).map_err(failed)?;
    let written = write_batches(hosts, &schema, |batch| file.write(batch).map_err(failed))?;
    file.finish().map_err(failed)?;
    Ok(written)
}

/// The same as a Parquet file, compressed.
///
/// # Errors
///
/// The output cannot be written.
pub fn write_parquet(output: impl Write + Send, hosts: &[HostRequests<'_>]) -> io::Result<u64> {
    let schema = Arc::new(schema(hosts.len() > 1));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let file = ArrowWriter::try_new(output, schema.clone(), Some(properties));
    let mut file = file.map_err(parquet_failed)?;
    let written = write_batches(hosts, &schema, |batch| {
        file.write(batch).map_err(parquet_failed)
    })?;
    file.close().map_err(parquet_failed)?;
    Ok(written)
}

/// Gives all rows to `write`, so many at a time; how many there were.
fn write_batches(
    hosts: &[HostRequests<'_>],
    schema: &Arc<Schema>,
    mut write: impl FnMut(&RecordBatch) -> io::Result<()>,
) -> io::Result<u64> {
    let mut rows = Rows::default();
    let mut written = 0;
    for host in hosts {
        for (id, request) in host.requests() {
            let path = host.path(id);
            for (segment, other) in path.path.segments.iter().zip(path.blocked_by) {
                rows.host.push(host.host().to_owned());
                rows.trace_id.push(request.key.trace.to_string());
                rows.span_id.push(request.key.span.to_string());
                rows.service.push(request.service().to_owned());
                rows.operation.push(host.name(request));
                rows.begin_ns.push(segment.range.begin.ns());
                rows.end_ns.push(segment.range.end.ns());
                rows.tid.push(segment.thread.0);
                rows.comm.push(segment.comm.to_string());
                rows.state.push(segment.state.name());
                rows.depth.push(segment.depth);
                rows.detail.push(segment.detail.to_string());
                let span = other.map(|other| host.all.get(other).key.span.to_string());
                rows.blocked_by_span_id.push(span);
                let state_host = host.all.hosts().name(segment.host);
                rows.state_host.push(state_host.to_owned());
                rows.recorded_begin_ns.push(segment.recorded.begin.ns());
                rows.recorded_end_ns.push(segment.recorded.end.ns());
            }
            if rows.tid.len() >= BATCH_ROWS {
                written += rows.tid.len() as u64;
                write(&rows.batch(schema)?)?;
            }
        }
    }
    written += rows.tid.len() as u64;
    write(&rows.batch(schema)?)?;
    Ok(written)
}

impl Rows {
    /// The rows as columns; there are none afterwards.
    fn batch(&mut self, schema: &Arc<Schema>) -> io::Result<RecordBatch> {
        let rows = std::mem::take(self);
        let text = |texts: Vec<String>| -> ArrayRef { Arc::new(StringArray::from(texts)) };
        let mut columns: Vec<ArrayRef> = vec![
            text(rows.host),
            text(rows.trace_id),
            text(rows.span_id),
            text(rows.service),
            text(rows.operation),
            Arc::new(Int64Array::from(rows.begin_ns)),
            Arc::new(Int64Array::from(rows.end_ns)),
            Arc::new(Int32Array::from(rows.tid)),
            text(rows.comm),
            Arc::new(StringArray::from(rows.state)),
            Arc::new(UInt32Array::from(rows.depth)),
            text(rows.detail),
            Arc::new(StringArray::from(rows.blocked_by_span_id)),
            text(rows.state_host),
            Arc::new(Int64Array::from(rows.recorded_begin_ns)),
            Arc::new(Int64Array::from(rows.recorded_end_ns)),
        ];
        columns.truncate(schema.fields().len());
        RecordBatch::try_new(schema.clone(), columns).map_err(failed)
    }
}

fn failed(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    }
}

fn parquet_failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
