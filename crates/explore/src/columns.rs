//! Trials as a Parquet file: what `--results csv` tells, with types.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array,
};
use parquet::arrow::ArrowWriter;

use crate::space::{Domain, Parameter};
use crate::spec::Spec;
use crate::trial::Trial;
use crate::value::Value;

/// Names of columns: `trial`, `batch`, `outcome`, those of parameters and of metrics, and `words`. A parameter or a metric
/// whose name is another column's has `parameter.` or `metric.` before it.
pub(crate) fn column_names(spec: &Spec) -> Vec<String> {
    const OWN: [&str; 4] = ["trial", "batch", "outcome", "words"];
    let parameters = spec.space.parameters.iter().map(|one| one.name.as_str());
    let parameters = parameters.map(|name| ("parameter.", name));
    let metrics = spec.metrics.keys().map(|name| ("metric.", name.as_str()));
    let mut names: Vec<String> = OWN[..3].iter().map(|&name| name.to_owned()).collect();
    for (prefix, name) in parameters.chain(metrics) {
        let mut name = name.to_owned();
        while names.contains(&name) || OWN.contains(&name.as_str()) {
            name = format!("{prefix}{name}");
        }
        names.push(name);
    }
    names.push(OWN[3].to_owned());
    names
}

/// Writes a row for each trial: `trial`, `batch`, `outcome`, `words`, and a column for each parameter and each metric under
/// their names (`column_names`), empty where a trial has none. Parameters are whole numbers, numbers or booleans where all their values
/// are, else texts.
///
/// # Errors
/// The output cannot be written.
pub fn write_parquet(mut output: impl Write, spec: &Spec, trials: &[Trial]) -> io::Result<()> {
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(trials.iter().map(|trial| trial.id).collect::<Int64Array>()),
        Arc::new(UInt32Array::from_iter_values(
            trials.iter().map(|trial| trial.batch),
        )),
        Arc::new(StringArray::from_iter_values(
            trials.iter().map(|trial| trial.outcome.name()),
        )),
    ];
    for parameter in &spec.space.parameters {
        columns.push(values(parameter, trials));
    }
    for metric in spec.metrics.keys() {
        let measures = trials.iter().map(|trial| trial.measures.get(metric));
        let measures: Float64Array = measures.map(Option::<&f64>::copied).collect();
        columns.push(Arc::new(measures));
    }
    let words = StringArray::from_iter_values(trials.iter().map(Trial::words));
    columns.push(Arc::new(words));
    let nullable = column_names(spec).into_iter().zip(columns);
    let nullable = nullable.map(|(name, column)| {
        let may_lack = column.null_count() > 0;
        (name, column, may_lack)
    });
    let batch = RecordBatch::try_from_iter_with_nullable(nullable).map_err(io::Error::other)?;
    // Made in memory, so that what the output says of its own keeps its kind.
    let file = ArrowWriter::try_new(Vec::new(), batch.schema(), None);
    let mut file = file.map_err(io::Error::other)?;
    file.write(&batch).map_err(io::Error::other)?;
    output.write_all(&file.into_inner().map_err(io::Error::other)?)
}

/// What each trial had for a parameter.
fn values(parameter: &Parameter, trials: &[Trial]) -> ArrayRef {
    let all = |is_one: fn(&Value) -> bool| match &parameter.domain {
        Domain::Integer { .. } => is_one(&Value::Integer(0)),
        Domain::Float { .. } => is_one(&Value::Float(0.0)),
        Domain::Values { values } => values.iter().all(is_one),
    };
    let values = (trials.iter()).map(|trial| trial.configuration.get(&parameter.name));
    if all(|value| matches!(value, Value::Integer(_))) {
        let integer = |value: Option<&Value>| match value {
            Some(Value::Integer(value)) => Some(*value),
            _ => None,
        };
        Arc::new(values.map(integer).collect::<Int64Array>())
    } else if all(|value| matches!(value, Value::Integer(_) | Value::Float(_))) {
        let number = |value: Option<&Value>| value.and_then(Value::number);
        Arc::new(values.map(number).collect::<Float64Array>())
    } else if all(|value| matches!(value, Value::Boolean(_))) {
        let boolean = |value: Option<&Value>| match value {
            Some(Value::Boolean(value)) => Some(*value),
            _ => None,
        };
        Arc::new(values.map(boolean).collect::<BooleanArray>())
    } else {
        let text = |value: Option<&Value>| value.map(ToString::to_string);
        Arc::new(values.map(text).collect::<StringArray>())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::results::csv;

    #[test]
    fn no_two_columns_have_one_name() {
        let text = "[parameters.batch]\ntype = \"integer\"\nvalues = [1, 2]\n\
                    [parameters.words]\ntype = \"boolean\"\n[parameters.t]\ntype = \"boolean\"\n\
                    [workload]\ncommand = \"true\"\n[metrics.t]\nregex = '(1)'\n\
                    [metrics.outcome]\nmeasure = \"wall\"\n[metrics.\"metric.t\"]\nmeasure = \"wall\"\n\
                    [[objectives]]\nminimise = \"t\"\n";
        let load = |_: &Path| Err(io::ErrorKind::NotFound.into());
        let spec = Spec::parse(text, "", "s", Path::new(""), &load);
        let spec = spec.unwrap_or_else(|error| panic!("{error}"));
        let expected = "trial,batch,outcome,parameter.batch,parameter.words,t,metric.t,metric.outcome,metric.metric.t,words";
        let names = column_names(&spec).join(",");
        // Metrics are in the order of their names.
        assert_eq!(csv(&spec, &[]), names.clone() + "\n");
        let sorted = |names: &str| {
            let mut names: Vec<String> = names.split(',').map(str::to_owned).collect();
            names.sort();
            names
        };
        assert_eq!(sorted(&names), sorted(expected));
        let mut file = Vec::new();
        write_parquet(&mut file, &spec, &[]).expect("written");
        assert!(file.starts_with(b"PAR1"));
    }
}
