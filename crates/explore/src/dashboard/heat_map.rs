//! A metric over two parameters, once for each combination of others: the heat maps of Go and Colmenares (2016), figure 3.
//!
//! A cell is what was tried there and nothing else: no value is estimated between them. Where parameters that are
//! neither axes nor tell panels apart make several configurations of a cell, it has the mean of their means.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::{is_number, number, values_of};
use crate::results::{Results, Row};
use crate::space::Parameter;
use crate::spec::Spec;
use crate::statistics::mean;
use crate::value::{Configuration, Value};

/// More different numbers than this are put into groups of neighbours.
const MOST_NUMBERS: usize = 24;
/// Of so many.
const GROUPS: usize = 10;
/// A group spans a factor rather than a difference where the largest number is so many times the smallest.
const WIDE: f64 = 100.0;
/// Parameters tell panels apart, the most important first, as long as there are no more than this.
const MOST_PANELS: usize = 12;
/// Nobody asked for so many panels on purpose.
const TOO_MANY_PANELS: usize = 1000;

/// What of an exploration is looked at; what is `None` is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeatMapAsked {
    /// A metric; else the first objective.
    pub metric: Option<String>,
    /// The parameter to the right; else the most important one.
    pub x: Option<String>,
    /// The parameter upwards; else the next.
    pub y: Option<String>,
    /// The parameters that tell panels apart; else the others, as long as panels are few.
    pub by: Option<Vec<String>>,
}

/// What is asked for is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoHeatMap {
    /// No such metric.
    #[error("the exploration has no metric `{0}`\n  hint: its metrics are {1}")]
    Metric(String, String),
    /// No such parameter.
    #[error("the exploration has no parameter `{0}`\n  hint: its parameters are {1}")]
    Parameter(String, String),
    /// One stands at two places.
    #[error(
        "`{0}` cannot stand at two places\n  hint: `x`, `y` and each of `by` are different parameters"
    )]
    Twice(String),
    /// Nobody could look at so many.
    #[error("this makes {0} panels\n  hint: take a parameter with many values out of `by`")]
    TooManyPanels(usize),
}

/// A metric over parameters.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct HeatMap {
    /// The metric.
    pub metric: String,
    /// To the right.
    pub x: Axis,
    /// Upwards; null where the exploration has one parameter.
    #[schema(required)]
    pub y: Option<Axis>,
    /// What tells panels apart.
    pub by: Vec<Axis>,
    /// Parameters that are neither: cells with several of their values have means of means.
    pub over: Vec<String>,
    /// Every combination of `by` in which something was tried.
    pub panels: Vec<Panel>,
}

/// A parameter's values, or groups of neighbours of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = HeatMapAxis)]
pub struct Axis {
    /// The parameter.
    pub parameter: String,
    /// Its values in order, those of the specification too that were not tried; `–` where it has none.
    pub labels: Vec<String>,
    /// Whether they are numbers.
    pub is_number: bool,
    /// Whether a label is a group of numbers, from one (inclusive) to another.
    pub is_grouped: bool,
}

/// A combination of values of what tells panels apart.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = HeatMapPanel)]
pub struct Panel {
    /// For each of `by` the place of its label.
    pub of: Vec<usize>,
    /// Only those in which something was tried.
    pub cells: Vec<Cell>,
}

/// What was tried at one place.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = HeatMapCell)]
pub struct Cell {
    /// The place of its label on the axis to the right.
    pub x: usize,
    /// The place of its label on the axis upwards.
    pub y: usize,
    /// Places of its configurations in `results.configurations`, the best first.
    pub configurations: Vec<usize>,
    /// How many trials have a result.
    pub count: u64,
    /// How many failed.
    pub failed: u64,
    /// The mean of the configurations' means; null where none has a result.
    #[schema(required)]
    pub mean: Option<f64>,
    /// Half the width of the mean's interval; null of a single trial, and of several configurations.
    #[schema(required)]
    pub half_width: Option<f64>,
    /// The smallest mean of its configurations.
    #[schema(required)]
    pub low: Option<f64>,
    /// The largest.
    #[schema(required)]
    pub high: Option<f64>,
}

/// Places of configurations, by places upwards and to the right.
type Cells = BTreeMap<(usize, usize), Vec<usize>>;

pub(super) fn heat_map(
    spec: &Spec,
    results: &Results,
    asked: &HeatMapAsked,
) -> Result<HeatMap, NoHeatMap> {
    let metric = match &asked.metric {
        Some(name) if !spec.metrics.contains_key(name) => {
            let known: Vec<&str> = spec.metrics.keys().map(String::as_str).collect();
            return Err(NoHeatMap::Metric(name.clone(), known.join(", ")));
        }
        Some(name) => name.clone(),
        None => spec.objectives[0].metric.clone(),
    };
    let tried: Vec<&Configuration> = (results.configurations.iter())
        .map(|row| &row.configuration)
        .collect();
    let places = Places::of(spec, results, &tried, asked)?;
    let scales = |parameters: &[&Parameter]| -> Vec<Scale> {
        let scales = parameters.iter();
        scales
            .map(|parameter| Scale::of(parameter, &tried))
            .collect()
    };
    let (x, by) = (Scale::of(places.x, &tried), scales(&places.by));
    let y = places.y.map(|parameter| Scale::of(parameter, &tried));
    let panels: usize = by.iter().map(|scale| scale.axis.labels.len()).product();
    if panels > TOO_MANY_PANELS {
        return Err(NoHeatMap::TooManyPanels(panels));
    }
    let mut cells: BTreeMap<Vec<usize>, Cells> = BTreeMap::new();
    for (place, configuration) in tried.iter().enumerate() {
        let panel = by.iter().map(|scale| scale.place(configuration)).collect();
        let y = y.as_ref().map_or(0, |scale| scale.place(configuration));
        let cell = cells
            .entry(panel)
            .or_default()
            .entry((y, x.place(configuration)));
        cell.or_default().push(place);
    }
    let rows = &results.configurations;
    let panels = cells.into_iter().map(|(of, cells)| Panel {
        of,
        cells: (cells.into_iter())
            .map(|((y, x), places)| cell((x, y), places, rows, &metric))
            .collect(),
    });
    Ok(HeatMap {
        panels: panels.collect(),
        metric,
        x: x.axis,
        y: y.map(|scale| scale.axis),
        by: by.into_iter().map(|scale| scale.axis).collect(),
        over: places.over,
    })
}

/// Which parameter stands where.
struct Places<'spec> {
    x: &'spec Parameter,
    y: Option<&'spec Parameter>,
    by: Vec<&'spec Parameter>,
    over: Vec<String>,
}

impl<'spec> Places<'spec> {
    fn of(
        spec: &'spec Spec,
        results: &Results,
        tried: &[&Configuration],
        asked: &HeatMapAsked,
    ) -> Result<Self, NoHeatMap> {
        let named = |name: &String| {
            spec.space
                .parameter(name)
                .ok_or_else(|| NoHeatMap::Parameter(name.clone(), results.parameters.join(", ")))
        };
        let x = asked.x.as_ref().map(named).transpose()?;
        let y = asked.y.as_ref().map(named).transpose()?;
        let by =
            (asked.by.as_ref()).map(|names| names.iter().map(named).collect::<Result<Vec<_>, _>>());
        let by = by.transpose()?;
        let mut taken: Vec<&Parameter> = Vec::new();
        for one in x.iter().chain(&y).chain(by.iter().flatten()) {
            if taken.iter().any(|other| other.name == one.name) {
                return Err(NoHeatMap::Twice(one.name.clone()));
            }
            taken.push(one);
        }
        let mut left = by_importance(spec, results);
        left.retain(|one| taken.iter().all(|other| other.name != one.name));
        let mut left = left.into_iter();
        // None is left where `by` has all of them.
        let Some(x) = x.or_else(|| left.next()) else {
            let name = by.iter().flatten().next().map(|one| one.name.clone());
            return Err(NoHeatMap::Twice(name.unwrap_or_default()));
        };
        let y = y.or_else(|| left.next());
        let mut over: Vec<&Parameter> = left.collect();
        let by = by.unwrap_or_else(|| {
            let mut panels = 1;
            let size = |one: &Parameter| Scale::of(one, tried).axis.labels.len();
            let (few, many) = over.drain(..).partition(|one| {
                let more = panels * size(one);
                let is_few = more <= MOST_PANELS;
                panels = if is_few { more } else { panels };
                is_few
            });
            over = many;
            few
        });
        let over = over.into_iter().map(|one| one.name.clone()).collect();
        Ok(Self { x, y, by, over })
    }
}

/// Parameters, the most important first; in the specification's order where nothing is known. Those with one value last.
fn by_importance<'spec>(spec: &'spec Spec, results: &Results) -> Vec<&'spec Parameter> {
    let known = results.importance.as_ref().map(|found| &found.parameters);
    let share = |parameter: &Parameter| {
        let found = known.and_then(|all| all.iter().find(|(name, _)| *name == parameter.name));
        found.and_then(|(_, share)| *share).unwrap_or(0.0)
    };
    let varies = |parameter: &Parameter| {
        let mut rows = results.configurations.iter();
        let first = rows
            .next()
            .map(|row| row.configuration.get(&parameter.name));
        rows.any(|row| Some(row.configuration.get(&parameter.name)) != first)
    };
    let mut parameters: Vec<&Parameter> = spec.space.parameters.iter().collect();
    parameters.sort_by(|one, two| {
        let key = |parameter: &Parameter| (varies(parameter), share(parameter));
        let (one, two) = (key(one), key(two));
        two.0.cmp(&one.0).then(two.1.total_cmp(&one.1))
    });
    parameters
}

/// An axis, and how a configuration finds its place on it.
struct Scale {
    axis: Axis,
    values: Vec<Value>,
    /// Between groups of numbers; empty where each value has its own place.
    bounds: Vec<f64>,
}

impl Scale {
    fn of(parameter: &Parameter, tried: &[&Configuration]) -> Self {
        let mut values = values_of(parameter, tried.iter().copied());
        let all_are_numbers = values.iter().all(is_number);
        // What was not tried has its empty place as well.
        let grid = parameter.domain.grid().unwrap_or_default();
        if grid.len() <= MOST_NUMBERS || !all_are_numbers {
            values.extend(grid);
            values = in_order(values);
        }
        let are_numbers = !values.is_empty() && values.iter().all(is_number);
        let bounds = match are_numbers && values.len() > MOST_NUMBERS {
            true => bounds(number(&values[0]), number(&values[values.len() - 1])),
            false => Vec::new(),
        };
        let mut labels: Vec<String> = match bounds.is_empty() {
            true => values.iter().map(ToString::to_string).collect(),
            false => (bounds.windows(2))
                .map(|ends| format!("{} – {}", short(ends[0]), short(ends[1])))
                .collect(),
        };
        if tried.iter().any(|one| one.get(&parameter.name).is_none()) {
            labels.push("–".to_owned());
        }
        Self {
            axis: Axis {
                parameter: parameter.name.clone(),
                labels,
                is_number: are_numbers,
                is_grouped: !bounds.is_empty(),
            },
            values,
            bounds,
        }
    }

    fn place(&self, configuration: &Configuration) -> usize {
        let last = self.axis.labels.len() - 1;
        let Some(value) = configuration.get(&self.axis.parameter) else {
            return last;
        };
        if self.bounds.is_empty() {
            let place = self.values.iter().position(|one| one.is_same(value));
            return place.unwrap_or(last);
        }
        let inner = &self.bounds[1..self.bounds.len() - 1];
        inner
            .iter()
            .filter(|bound| number(value) >= **bound)
            .count()
    }
}

/// Each value once; numbers by size, others as they come in the specification.
fn in_order(values: Vec<Value>) -> Vec<Value> {
    let mut once: Vec<Value> = Vec::new();
    let are_numbers = values.iter().all(is_number);
    // The specification's own are the last ones, and its order is the right one.
    for value in values.into_iter().rev() {
        if !once.iter().any(|one| one.is_same(&value)) {
            once.push(value);
        }
    }
    once.reverse();
    if are_numbers {
        once.sort_by(|one, two| number(one).total_cmp(&number(two)));
    }
    once
}

/// The ends of groups from `least` to `most`.
fn bounds(least: f64, most: f64) -> Vec<f64> {
    let is_wide = least > 0.0 && most / least >= WIDE;
    let at = |group: usize| {
        let share = group as f64 / GROUPS as f64;
        match (group, is_wide) {
            (0, _) => least,
            (GROUPS, _) => most,
            (_, true) => least * (most / least).powf(share),
            (_, false) => least + (most - least) * share,
        }
    };
    (0..=GROUPS).map(at).collect()
}

/// A bound with three digits that count.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        0.0 => 0,
        size => (2 - size.log10().floor() as i32).clamp(0, 9),
    };
    format!("{value:.*}", digits as usize)
}

fn cell((x, y): (usize, usize), configurations: Vec<usize>, rows: &[Row], metric: &str) -> Cell {
    let known = configurations
        .iter()
        .filter_map(|place| rows[*place].metrics.get(metric));
    let known: Vec<_> = known.collect();
    let means = || known.iter().map(|metric| metric.mean);
    let half_width = match known.as_slice() {
        [one] => one.half_width,
        _ => None,
    };
    Cell {
        x,
        y,
        count: known.iter().map(|metric| metric.count).sum(),
        failed: configurations
            .iter()
            .map(|place| rows[*place].failed())
            .sum(),
        mean: (!known.is_empty()).then(|| mean(&means().collect::<Vec<_>>())),
        half_width,
        low: means().min_by(f64::total_cmp),
        high: means().max_by(f64::total_cmp),
        configurations,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::trial::{Outcome, Trial};

    const COST: &str = "[workload]\ncommand = \"true\"\n[metrics.cost]\nregex = '(1)'\n[metrics.other]\nregex = '(2)'\n\
                        [[objectives]]\nminimise = \"cost\"\n";

    /// Trials of these configurations, each with its cost, over these parameters.
    fn map(parameters: &str, tried: &[(&str, f64)], asked: &HeatMapAsked) -> HeatMap {
        let load = |_: &Path| Err(std::io::ErrorKind::NotFound.into());
        let text = format!("{parameters}{COST}");
        let spec = Spec::parse(&text, "", "s", Path::new(""), &load).expect("a specification");
        let trial = |(id, (key, cost)): (i64, &(&str, f64))| Trial {
            id,
            batch: 0,
            configuration: Configuration::from_key(key).expect("JSON"),
            outcome: Outcome::Good,
            measures: [("cost".to_owned(), *cost)].into(),
            notes: String::new(),
        };
        let trials: Vec<Trial> = (1..).zip(tried).map(trial).collect();
        heat_map(&spec, &Results::new(&spec, &trials), asked).expect("a map")
    }

    fn means(panel: &Panel) -> Vec<(usize, usize, Option<f64>)> {
        let cells = panel.cells.iter();
        cells.map(|cell| (cell.x, cell.y, cell.mean)).collect()
    }

    const THREE: &str = "[parameters.a]\ntype = \"integer\"\nvalues = [4, 1, 2]\n\
                         [parameters.b]\ntype = \"category\"\nvalues = [\"y\", \"x\"]\n\
                         [parameters.c]\ntype = \"boolean\"\n";

    #[test]
    fn the_most_important_parameter_lies_to_the_right_and_untried_values_have_their_place() {
        let tried = [
            (r#"{"a":1,"b":"x","c":false}"#, 10.0),
            (r#"{"a":1,"b":"y","c":false}"#, 90.0),
            (r#"{"a":4,"b":"x","c":false}"#, 12.0),
            (r#"{"a":4,"b":"y","c":false}"#, 95.0),
        ];
        let chosen = map(THREE, &tried, &HeatMapAsked::default());
        assert_eq!(chosen.x.parameter, "b");
        assert_eq!(chosen.x.labels, ["y", "x"]);
        // By size, with the one that nobody tried.
        assert_eq!(chosen.y.as_ref().expect("two").labels, ["1", "2", "4"]);
        assert_eq!((chosen.by.len(), chosen.panels.len()), (1, 1));
        let expected = [(0, 0, 90.0), (1, 0, 10.0), (0, 2, 95.0), (1, 2, 12.0)];
        let expected: Vec<_> = expected.map(|(x, y, mean)| (x, y, Some(mean))).into();
        assert_eq!(means(&chosen.panels[0]), expected);
    }

    #[test]
    fn parameters_that_are_no_axes_make_panels_or_means_of_means() {
        let tried = [
            (r#"{"a":1,"b":"x","c":false}"#, 10.0),
            (r#"{"a":1,"b":"x","c":true}"#, 20.0),
            (r#"{"a":2,"b":"x","c":true}"#, 7.0),
        ];
        let mut asked = HeatMapAsked {
            x: Some("a".to_owned()),
            y: Some("b".to_owned()),
            ..HeatMapAsked::default()
        };
        let panels = map(THREE, &tried, &asked);
        assert_eq!(panels.by[0].labels, ["false", "true"]);
        let of: Vec<_> = panels.panels.iter().map(means).collect();
        let expected = [
            vec![(0, 1, Some(10.0))],
            vec![(0, 1, Some(20.0)), (1, 1, Some(7.0))],
        ];
        assert_eq!(of, expected);
        asked.by = Some(Vec::new());
        let one = map(THREE, &tried, &asked);
        assert_eq!(one.over, ["c"]);
        assert_eq!(
            means(&one.panels[0]),
            [(0, 1, Some(15.0)), (1, 1, Some(7.0))]
        );
        let cell = &one.panels[0].cells[0];
        assert_eq!(
            (cell.low, cell.high, cell.count),
            (Some(10.0), Some(20.0), 2)
        );
        // What was not measured is tried all the same.
        asked.metric = Some("other".to_owned());
        assert_eq!(map(THREE, &tried, &asked).panels[0].cells[0].mean, None);
    }

    #[test]
    fn many_numbers_are_groups_and_what_is_absent_has_a_place() {
        let wide = "[parameters.a]\ntype = \"float\"\nmin = 1\nmax = 10000\n\
                    [parameters.m]\ntype = \"category\"\nvalues = [\"p\", \"q\"]\n\
                    [parameters.d]\ntype = \"integer\"\nvalues = [1, 2]\nwhen = { m = [\"p\"] }\n";
        let keys: Vec<String> = (0..40)
            .map(|step| {
                let value = 10_f64.powf(f64::from(step) / 39.0 * 4.0);
                match step % 2 {
                    0 => format!(r#"{{"a":{value:?},"d":1,"m":"p"}}"#),
                    _ => format!(r#"{{"a":{value:?},"m":"q"}}"#),
                }
            })
            .collect();
        let tried: Vec<(&str, f64)> = keys.iter().map(|key| (key.as_str(), 1.0)).collect();
        let asked = HeatMapAsked {
            x: Some("a".to_owned()),
            y: Some("d".to_owned()),
            by: Some(Vec::new()),
            ..HeatMapAsked::default()
        };
        let found = map(wide, &tried, &asked);
        assert!(found.x.is_grouped);
        assert_eq!(found.x.labels.len(), GROUPS);
        assert_eq!(found.x.labels[0], "1.00 – 2.51");
        assert_eq!(found.y.expect("two").labels, ["1", "2", "–"]);
        let all: u64 = found.panels[0].cells.iter().map(|cell| cell.count).sum();
        assert_eq!(all, 40);
        assert!(found.panels[0].cells.iter().all(|cell| cell.y != 1));
        let per_group: BTreeMap<usize, u64> =
            (found.panels[0].cells.iter()).fold(BTreeMap::new(), |mut sums, cell| {
                *sums.entry(cell.x).or_default() += cell.count;
                sums
            });
        assert!(
            per_group.len() == GROUPS && per_group.values().all(|count| *count == 4),
            "{per_group:?}"
        );
    }
}
