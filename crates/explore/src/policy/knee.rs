//! The knee of a curve over one whole number: the best value, the smallest one that is as good but for a tolerance, and
//! what comes beyond the best.
//!
//! Values at doubling distances first; then the gaps beside the best one and below the knee are halved until none is left.
//! Right for curves that rise to a best value and fall or stay behind it. All other parameters have their defaults.

use super::{Policy, PolicyError, Seen, Wanted, each};
use crate::statistics::{Difference, Sample, four_digits};
use crate::value::{Configuration, Value};

pub(super) struct Knee {
    pub(super) parameter: String,
    pub(super) tolerance: f64,
}

/// A value that was tried: its place among all of them, and its costs.
#[derive(Clone, Copy, Debug)]
struct Point {
    place: usize,
    cost: Sample,
}

impl Policy for Knee {
    fn next(&mut self, seen: Seen<'_>) -> Result<Vec<Wanted>, PolicyError> {
        let line = self.line(seen)?;
        let last = line.len() - 1;
        let places = match seen.batches {
            0 => doubling(last),
            _ => {
                let tried = seen.tried();
                let is_tried =
                    |place: &usize| tried.iter().any(|one| one.configuration == line[*place]);
                let tried: Vec<usize> = (0..line.len()).filter(is_tried).collect();
                self.gaps(&self.points(seen, &line), &tried)
            }
        };
        Ok(each(
            seen,
            places
                .into_iter()
                .map(|place| line[place].clone())
                .collect(),
        ))
    }

    fn conclusions(&mut self, seen: Seen<'_>) -> Result<Vec<String>, PolicyError> {
        let line = self.line(seen)?;
        let points = self.points(seen, &line);
        let Some((best, knee)) = self.best_and_knee(&points) else {
            return Ok(Vec::new());
        };
        let name = &self.parameter;
        let value = |place: usize| {
            line[place]
                .get(name)
                .map_or(String::new(), Value::to_string)
        };
        let objective = &seen.spec.objectives[0];
        let metric = &objective.metric;
        // Turned back into the metric's own numbers.
        let of = |point: Point| four_digits(objective.cost(point.cost.mean));
        let mut told = vec![match best.place == knee.place {
            true => format!(
                "{name}={} is the best value, and the knee: {metric} {}",
                value(best.place),
                of(best)
            ),
            false => format!(
                "{name}={} is the best value ({metric} {}); the knee is at {name}={}, from where on more of it gains less than {:.0} % ({metric} {})",
                value(best.place),
                of(best),
                value(knee.place),
                self.tolerance * 100.0,
                of(knee)
            ),
        }];
        let tried = seen.tried();
        let fails = |place: &usize| {
            let mut tried = tried.iter();
            tried.any(|one| one.configuration == line[*place] && one.failed > 0)
        };
        if let Some(place) = (best.place + 1..line.len()).find(fails) {
            let (best, failing) = (value(best.place), value(place));
            told.push(format!("beyond {name}={best} it fails: {name}={failing}"));
        }
        if let Some(end) = points.last().filter(|end| end.place > best.place) {
            let confidence = seen.spec.trials.confidence;
            let difference = best.cost.difference(&end.cost, confidence);
            told.push(match difference {
                Some(difference) if difference.low > 0.0 => format!(
                    "beyond {name}={} it becomes worse: {name}={} by {}",
                    value(best.place),
                    value(end.place),
                    loss(difference, best.cost.mean, confidence)
                ),
                _ => format!(
                    "{name}={} cannot be told from {name}={}",
                    value(end.place),
                    value(best.place)
                ),
            });
        }
        Ok(told)
    }
}

impl Knee {
    /// The configurations along the parameter.
    fn line(&self, seen: Seen<'_>) -> Result<Vec<Configuration>, PolicyError> {
        let space = &seen.spec.space;
        let parameter = space.parameter(&self.parameter);
        let values = parameter
            .and_then(|parameter| parameter.domain.grid())
            .unwrap_or_default();
        let with = |value: &Value| {
            space.configuration(|parameter| match parameter.name == self.parameter {
                true => value.clone(),
                false => parameter.default.clone(),
            })
        };
        let line: Vec<Configuration> = values
            .iter()
            .map(with)
            .filter(|one| one.get(&self.parameter).is_some() && space.satisfies(one))
            .collect();
        match line.is_empty() {
            true => Err(PolicyError(format!(
                "no value of `{}` can be tried beside the defaults of the others\n  hint: look at `constraints`, or give it a `step`",
                self.parameter
            ))),
            false => Ok(line),
        }
    }

    fn points(&self, seen: Seen<'_>, line: &[Configuration]) -> Vec<Point> {
        let tried = seen.tried();
        let point = |(place, configuration): (usize, &Configuration)| {
            let one = tried
                .iter()
                .find(|one| one.configuration == *configuration)?;
            // One that fails at times is no value to choose.
            let cost = one.sample().filter(|_| one.failed == 0)?;
            Some(Point { place, cost })
        };
        line.iter().enumerate().filter_map(point).collect()
    }

    fn best_and_knee(&self, points: &[Point]) -> Option<(Point, Point)> {
        let best = *points
            .iter()
            .min_by(|one, two| one.cost.mean.total_cmp(&two.cost.mean))?;
        let enough = best.cost.mean + self.tolerance * best.cost.mean.abs();
        let knee = *points.iter().find(|point| point.cost.mean <= enough)?;
        Some((best, knee))
    }

    /// The middles of the gaps that matter, between places that were tried, whether that gave a result or not.
    fn gaps(&self, points: &[Point], tried: &[usize]) -> Vec<usize> {
        let Some((best, knee)) = self.best_and_knee(points) else {
            return Vec::new();
        };
        let below = |place: usize| {
            let below = tried.iter().rfind(|other| **other < place);
            below.copied().unwrap_or(place)
        };
        let above = tried.iter().copied().find(|other| *other > best.place);
        let mut middles: Vec<usize> = [
            (below(best.place), best.place),
            (best.place, above.unwrap_or(best.place)),
            (below(knee.place), knee.place),
        ]
        .into_iter()
        .filter(|(low, high)| high - low > 1)
        .map(|(low, high)| usize::midpoint(low, high))
        .collect();
        middles.sort_unstable();
        middles.dedup();
        middles
    }
}

/// A difference as a share of the best, in the metric's own numbers where the best is 0; and its interval.
fn loss(difference: Difference, best: f64, confidence: f64) -> String {
    let parts = [difference.estimate, difference.low, difference.high];
    let unit = if best == 0.0 { "" } else { " %" };
    let [estimate, low, high] = parts.map(|part| match best {
        0.0 => four_digits(part),
        _ => format!("{:.1}", part * 100.0 / best.abs()),
    });
    let confidence = confidence * 100.0;
    format!("{estimate}{unit} ({confidence:.0} % interval {low} to {high}{unit})")
}

/// 0, 1, 3, 7, … and the last.
fn doubling(last: usize) -> Vec<usize> {
    let powers = (0..usize::BITS).map(|power| (1_usize << power) - 1);
    powers
        .take_while(|place| *place < last)
        .chain([last])
        .collect()
}
