//! Results of an exploration as text for people.

use slowpath_explore::{
    Drift, Importance, Method, ObjectiveRow, Results, Row, Standing, Value, four_digits,
};

use crate::tables::Columns;
use slowpath_model::counted;

/// Of a value in a table.
const MOST_LETTERS: usize = 32;

/// Everything that was found, as text.
pub(crate) fn text(
    results: &Results,
    drift: &[Drift],
    conclusions: &[String],
    reasons: &[String],
    top: usize,
) -> String {
    let mut text = format!(
        "{}: {} of {}",
        results.name,
        counted(results.trials, "trial", "trials"),
        counted(
            results.configurations.len() as u64,
            "configuration",
            "configurations"
        )
    );
    if results.failed > 0 {
        text += &format!("; {} failed", counted(results.failed, "trial", "trials"));
    }
    text += "\n\n";
    text += &table(results, top);
    text += &legend(results);
    text += &drifted(results, drift);
    if let Some(first) = results.notes.first() {
        text += &format!(
            "Metrics of {} of {} lack something (--results csv has all): trial {}: {}.\n",
            results.notes.len(),
            counted(results.trials, "trial", "trials"),
            first.trial,
            first.words
        );
    }
    if let Some(importance) = &results.importance {
        text += &matters(importance, &results.objectives[0]);
    }
    text += &paragraph("What the policy concludes:", conclusions);
    text += &paragraph("Why:", reasons);
    text
}

fn table(results: &Results, top: usize) -> String {
    let several = results.objectives.len() > 1;
    let mut heads = vec!["#".to_owned()];
    heads.extend((results.parameters.iter()).map(|name| format!("#{}", brief(name))));
    for objective in &results.objectives {
        let unit = if objective.unit.is_empty() {
            String::new()
        } else {
            format!(" ({})", objective.unit)
        };
        heads.push(format!("#{}{unit}", objective.metric));
        heads.push("#±".to_owned());
    }
    heads.extend([
        "#trials".to_owned(),
        "#against the best".to_owned(),
        String::new(),
    ]);
    if several {
        heads.push("front".to_owned());
    }
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut columns = Columns::new(&heads, top);
    for row in &results.configurations {
        columns.row(cells(results, row, several));
    }
    columns.text()
}

fn cells(results: &Results, row: &Row, several: bool) -> Vec<String> {
    let mut cells = vec![row.rank.map_or("–".to_owned(), |rank| rank.to_string())];
    let value = |name: &String| {
        row.configuration
            .get(name)
            .map_or("–".to_owned(), |value| brief(&shown(value)))
    };
    cells.extend(results.parameters.iter().map(value));
    for objective in &results.objectives {
        let metric = row.metrics.get(&objective.metric);
        cells.push(metric.map_or("–".to_owned(), |metric| four_digits(metric.mean)));
        let half_width = metric.and_then(|metric| metric.half_width);
        cells.push(half_width.map_or(String::new(), four_digits));
    }
    let all: u64 = row.outcomes.values().sum();
    let good = row.outcomes.get("good").copied().unwrap_or(0)
        + row.outcomes.get("stopped").copied().unwrap_or(0);
    cells.push(if good == all {
        all.to_string()
    } else {
        format!("{good} of {all}")
    });
    let best = results
        .best()
        .and_then(|best| best.metrics.get(&results.objectives[0].metric));
    cells.push(against(row, best.map(|best| best.mean)));
    let standing = standing(row);
    cells.push(match row.outcomes.get("stopped") {
        Some(_) if row.rank.is_none() && failures(row).is_empty() => "stopped early".to_owned(),
        Some(_) => [&standing, "stopped early"].join(" ").trim().to_owned(),
        None => standing,
    });
    if several {
        cells.push(if row.is_on_front {
            "*".to_owned()
        } else {
            String::new()
        });
    }
    cells
}

fn standing(row: &Row) -> String {
    match row.standing {
        Standing::Best => match failures(row) {
            none if none.is_empty() => "best".to_owned(),
            some => format!("best, {some}"),
        },
        Standing::NotToldApart => "≈ best".to_owned(),
        Standing::Worse => String::new(),
        Standing::NoInterval => "?".to_owned(),
        Standing::Unreliable | Standing::Failed => failures(row),
    }
}

fn failures(row: &Row) -> String {
    let failed = row
        .outcomes
        .iter()
        .filter(|(name, _)| !["good", "stopped"].contains(&name.as_str()));
    let told: Vec<String> = failed
        .map(|(name, count)| format!("{name} {count}×"))
        .collect();
    told.join(", ")
}

/// The interval of the difference as shares of the best; in the metric's own numbers where the best is 0.
fn against(row: &Row, best: Option<f64>) -> String {
    match (row.difference, best) {
        (Some(difference), Some(best)) if best != 0.0 => {
            let percent = |part: f64| part / best.abs() * 100.0;
            format!(
                "{:+.1} to {:+.1} %",
                percent(difference.low),
                percent(difference.high)
            )
        }
        (Some(difference), Some(_)) => {
            let signed = |part: f64| match part >= 0.0 {
                true => format!("+{}", four_digits(part)),
                false => four_digits(part),
            };
            format!("{} to {}", signed(difference.low), signed(difference.high))
        }
        _ => String::new(),
    }
}

fn legend(results: &Results) -> String {
    let confidence = results.confidence * 100.0;
    let mut text = format!(
        "±: half of the {confidence:.0} % interval of the mean (Student's t). Against the best: {confidence:.0} % interval of the difference (Welch)"
    );
    let has = |standing| {
        results
            .configurations
            .iter()
            .any(|row| row.standing == standing)
    };
    if has(Standing::NotToldApart) {
        text += "; ≈: 0 lies in it, so the two are not told apart";
    }
    if has(Standing::NoInterval) {
        text += "; ?: too few trials to say";
    }
    text += ".\n";
    if let Some(luck) = results.luck() {
        text += &format!(
            "Each is compared by itself with the luckiest: of {} that are equally good, up to {:.0} % would seem worse.\n",
            luck.rivals,
            100.0 * luck.share
        );
    }
    if results.is_by_rounds {
        text += "Configurations ran in different rounds: ranked by how long the policy kept them where it throws out, then by means less what rounds differ by; differences are of the rounds in common.\n";
    }
    for objective in &results.objectives {
        if let Some(noise) = objective.noise {
            text += &format!(
                "Noise of {}: {:.1} % from trial to trial.\n",
                objective.metric,
                noise * 100.0
            );
        }
    }
    if results.objectives.len() > 1 {
        text += "*: no other configuration is better in one objective and not worse in another (Pareto front, by means).\n";
    }
    text
}

/// Sentences on objectives that changed with time alone, where the interval says so.
fn drifted(results: &Results, drift: &[Drift]) -> String {
    let told = drift.iter().filter_map(|one| {
        let change = one.change.filter(|change| change.is_told_apart())?;
        Some(format!(
            "{} drifted: {:+.1} to {:+.1} % from the first trial to the last, whatever the configuration ({:.0} % interval).\n",
            one.metric,
            100.0 * change.low,
            100.0 * change.high,
            100.0 * results.confidence
        ))
    });
    told.collect()
}

fn matters(importance: &Importance, objective: &ObjectiveRow) -> String {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let shares = importance
        .parameters
        .iter()
        .map(|(name, share)| match share {
            Some(share) => format!("{name} {}", percent(*share)),
            None => format!("{name} unknown (no second value has a result)"),
        });
    let mut shares: Vec<String> = shares.collect();
    shares.extend(
        importance
            .together
            .map(|share| format!("together only {}", percent(share))),
    );
    let not_explained =
        (importance.not_explained).map(|share| format!("not explained {}", percent(share)));
    shares.extend(not_explained);
    let method = match importance.method {
        Method::MainEffects => {
            "shares of the variance between configurations: main effects, functional ANOVA of the whole grid"
        }
        Method::Additive => {
            "shares of the variance, each value counted once: effects that add up, fitted to what was tried; not a whole grid, so what parameters do only together is not known"
        }
    };
    let why = match importance.not_explained {
        Some(_) => {
            "; not explained is what noise, values taken together in groups and parameters together do"
        }
        None => "",
    };
    format!(
        "\nWhat {} depends on: {}\n({method}{why})\n",
        objective.metric,
        shares.join(", ")
    )
}

fn paragraph(title: &str, sentences: &[String]) -> String {
    match sentences.is_empty() {
        true => String::new(),
        false => format!(
            "\n{title}\n{}",
            sentences
                .iter()
                .map(|one| format!("- {one}\n"))
                .collect::<String>()
        ),
    }
}

/// A value of a parameter, a float with nine digits that count: what arithmetic leaves behind them tells nobody anything.
fn shown(value: &Value) -> String {
    match value {
        Value::Float(float) => {
            let rounded = format!("{float:.8e}").parse::<f64>();
            rounded.unwrap_or(*float).to_string()
        }
        other => other.to_string(),
    }
}

/// A text that leaves room for others: of a long one the begin and, as long options differ there, the end. Other forms
/// have all of it.
fn brief(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= MOST_LETTERS {
        return text.to_owned();
    }
    let end = (MOST_LETTERS - 1) / 3;
    let begin = letters[..MOST_LETTERS - 1 - end].iter();
    let end = letters[letters.len() - end..].iter();
    begin.chain(&['…']).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use slowpath_explore::{
        Configuration, Importance, Method, ObjectiveRow, Row, Standing, Value, four_digits,
    };

    use super::{brief, matters, shown, standing};

    #[test]
    fn of_the_best_it_is_told_that_some_of_its_trials_failed() {
        let row = |failed: &[(&str, u64)]| Row {
            rank: Some(1),
            configuration: Configuration::default(),
            outcomes: (failed.iter())
                .map(|(name, count)| ((*name).to_owned(), *count))
                .collect(),
            metrics: Default::default(),
            standing: Standing::Best,
            difference: None,
            is_on_front: true,
        };
        assert_eq!(standing(&row(&[("good", 3)])), "best");
        assert_eq!(
            standing(&row(&[("good", 2), ("workload", 1)])),
            "best, workload 1×"
        );
    }

    #[test]
    fn what_no_parameter_explains_is_told() {
        let objective = ObjectiveRow {
            metric: "cost".to_owned(),
            unit: String::new(),
            goal: "minimise",
            noise: None,
        };
        let told = |not_explained| {
            let importance = Importance {
                method: Method::Additive,
                parameters: vec![("a".to_owned(), Some(0.12)), ("b".to_owned(), Some(0.11))],
                together: None,
                not_explained,
            };
            matters(&importance, &objective)
        };
        let much = told(Some(0.77));
        assert!(
            much.contains("a 12 %, b 11 %, not explained 77 %\n"),
            "{much}"
        );
        assert!(much.contains("; not explained is what noise"), "{much}");
        let little = told(None);
        assert!(!little.contains("not explained"), "{little}");
    }

    #[test]
    fn floats_are_shown_without_what_arithmetic_left() {
        let floats = [0.1 + 0.2, 0.05 + 0.9 / 27.0, 0.5, 1e6, 0.123_456_789_012];
        let all = floats.map(|float| shown(&Value::Float(float)));
        assert_eq!(
            all,
            ["0.3", "0.0833333333", "0.5", "1000000", "0.123456789"]
        );
    }

    #[test]
    fn of_long_values_the_begin_and_the_end_are_shown() {
        assert_eq!(brief("everysec"), "everysec");
        let long = "-XX:+UseG1GC -XX:+ParallelRefProcEnabled -XX:G1NewSizePercent=40";
        assert_eq!(brief(long), "-XX:+UseG1GC -XX:+Par…Percent=40");
    }

    #[test]
    fn numbers_have_four_digits_that_count() {
        let shown = [
            0.0,
            1.0,
            12_345.678,
            0.012_346_7,
            1234.5,
            99.999,
            1e-9,
            -2.5,
        ]
        .map(four_digits);
        assert_eq!(
            shown,
            [
                "0", "1.000", "12346", "0.01235", "1234", "100.00", "1.000e-9", "-2.500"
            ]
        );
    }
}
