//! Requests as tables for people: what took how long, a bar of states, the longest wait in words.

use slowpath_critical_path::State;
use slowpath_model::{Nanoseconds, ThreadId};
use slowpath_requests::{Operations, States, Summary, ThreadOfHost, WaitFor};
use slowpath_views::OperationName;

use crate::requests::{Chosen, LeftOutRow, OperationOfHost, left_out_rows};
use crate::tables::Columns;

/// How many letters a bar has.
const BAR: u128 = 24;

/// The slowest requests; `found` is how many there were to choose from.
pub(crate) fn slowest(
    rows: &[(Chosen<'_>, Summary<'_>)],
    found: usize,
    several_hosts: bool,
) -> String {
    let have_names = (rows.iter()).any(|(chosen, _)| !chosen.request().operation().is_empty());
    let mut titles = vec!["#duration", "span"];
    titles.extend(several_hosts.then_some("host"));
    titles.extend(have_names.then_some("request"));
    titles.extend(["thread", "time", "longest wait"]);
    let mut columns = Columns::new(&titles, 0);
    let mut all = States::default();
    for (chosen, summary) in rows {
        all.add_all(&summary.states);
        let request = chosen.request();
        let threads = request.threads();
        let duration = match request.duration() {
            Some(duration) => duration.to_string(),
            None => format!("? {}", request.window.length()),
        };
        let mut texts = vec![duration, request.key.span.to_string()];
        texts.extend(several_hosts.then(|| chosen.host.name.clone()));
        texts.extend(have_names.then(|| named(request.service(), request.operation())));
        texts.extend([
            match threads.as_slice() {
                [] => "unknown".into(),
                [one] => thread(*chosen, *one),
                [first, others @ ..] => format!("{} +{}", thread(*chosen, *first), others.len()),
            },
            bar(&summary.states),
            longest_wait(*chosen, summary),
        ]);
        columns.row(texts);
    }
    let mut text = columns.text();
    if found > rows.len() {
        text += &format!(
            "… and {} more (--slowest 0 shows all)\n",
            found - rows.len()
        );
    }
    if rows
        .iter()
        .any(|(chosen, _)| chosen.request().duration().is_none())
    {
        text += "? not known: the start or the end is not recorded; they come last\n";
    }
    text += &format!("\n{}", legend(&all));
    text
}

/// Says how many requests of which operations are left out as their durations are not known, if any are.
pub(crate) fn left_out(rows: &[LeftOutRow<'_>]) -> String {
    const MOST: usize = 8;
    let (requests, whose) = match rows.iter().map(|row| row.in_part).sum::<u64>() {
        0 => return String::new(),
        1 => ("1 request is".to_owned(), "its"),
        all => (format!("{all} requests are"), "their"),
    };
    let mut of_operations: Vec<String> = (rows.iter().take(MOST))
        .map(|row| {
            let host = row.host.map_or(String::new(), |host| format!(" on {host}"));
            format!("{}{host} {}", operation(row.name), row.in_part)
        })
        .collect();
    if rows.len() > MOST {
        of_operations.push(format!("{} more operations", rows.len() - MOST));
    }
    format!(
        "{requests} left out, of unknown length: {whose} start or end is not recorded ({})\n",
        of_operations.join(", ")
    )
}

pub(crate) fn operation(name: &OperationName) -> String {
    match name.operation.as_str() {
        "" => format!("thread {}", name.comm),
        operation => named(&name.service, operation),
    }
}

/// Operations and their percentile bands.
pub(crate) fn operations(operations: &Operations<OperationOfHost>) -> String {
    let several_hosts = (operations.all().iter()).any(|operation| operation.name.host.is_some());
    let mut titles = vec!["request"];
    titles.extend(several_hosts.then_some("host"));
    titles.extend(["band", "#count", "#shortest", "#longest", "time", "mostly"]);
    let mut columns = Columns::new(&titles, 0);
    let mut all = States::default();
    for operation in operations.all() {
        let OperationOfHost { name, host } = &operation.name;
        let mut host = host.clone();
        let mut named = self::operation(name);
        for band in &operation.bands {
            all.add_all(&band.states);
            let mut texts = vec![std::mem::take(&mut named)];
            texts.extend(several_hosts.then(|| host.take().unwrap_or_default()));
            texts.extend([
                format!(
                    "p{} – p{}",
                    percentile(band.permille.0),
                    percentile(band.permille.1)
                ),
                band.count.to_string(),
                band.durations.0.to_string(),
                band.durations.1.to_string(),
                bar(&band.states),
                mostly(&band.states),
            ]);
            columns.row(texts);
        }
    }
    let left_out = left_out(&left_out_rows(operations));
    format!("{}{left_out}\n{}", columns.text(), legend(&all))
}

fn percentile(permille: u64) -> String {
    match permille % 10 {
        0 => (permille / 10).to_string(),
        tenth => format!("{}.{tenth}", permille / 10),
    }
}

fn named(service: &str, operation: &str) -> String {
    match (service, operation) {
        ("", operation) => operation.to_owned(),
        _ => format!("{service}: {operation}"),
    }
}

fn thread(chosen: Chosen<'_>, thread: ThreadId) -> String {
    let host = chosen.of.host;
    thread_of(chosen, ThreadOfHost { host, thread })
}

/// For instance `worker-B (316)`, on another host than the request's `worker-B (316) on web-2`.
fn thread_of(chosen: Chosen<'_>, of: ThreadOfHost) -> String {
    let thread = match chosen.comm_of(of).as_str() {
        "" => of.thread.to_string(),
        comm => format!("{comm} ({})", of.thread),
    };
    match chosen.other_host(of.host) {
        Some(host) => format!("{thread} on {host}"),
        None => thread,
    }
}

/// For instance `377.8 ms for worker-B (316), mostly BLOCK_DEVICE, in futex`.
fn longest_wait(chosen: Chosen<'_>, summary: &Summary<'_>) -> String {
    let Some(wait) = summary.waits.first() else {
        return String::new();
    };
    let length = wait.range.length();
    let call = wait
        .call
        .map_or(String::new(), |call| format!(" in {call}"));
    match wait.on {
        WaitFor::Thread(waker) => {
            let (who, state) = wait.mostly;
            let did = match who == waker {
                true => format!("mostly {}", state.name()),
                false => format!("mostly {} of {}", state.name(), thread_of(chosen, who)),
            };
            format!("{length} for {}{call}, {did}", thread_of(chosen, waker))
        }
        WaitFor::Request(other) => {
            format!("{length} for {}", chosen.all.described(other))
        }
        WaitFor::State(state) => format!("{length} {}{call}", state.name()),
    }
}

/// The two states that took most of the time.
fn mostly(states: &States) -> String {
    let total = states.total().get().max(1);
    let longest = states.longest().into_iter().take(2);
    let texts = longest.map(|(state, length)| {
        let percent = 100.0 * length.get() as f64 / total as f64;
        format!("{} {percent:.0} %", state.name())
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// A bar of as many letters per state as it has of the time, the longest first; what letters are
/// left over by rounding down go to the largest remainders.
fn bar(states: &States) -> String {
    let total = u128::from(states.total().get().max(1));
    let mut shares: Vec<(State, u128, u128)> = (states.longest().into_iter())
        .map(|(state, length)| {
            let exact = u128::from(length.get()) * BAR;
            (state, exact / total, exact % total)
        })
        .collect();
    let drawn: u128 = shares.iter().map(|(_, letters, _)| letters).sum();
    let mut remainders: Vec<usize> = (0..shares.len()).collect();
    remainders.sort_by_key(|&place| std::cmp::Reverse(shares[place].2));
    for place in remainders.into_iter().take((BAR - drawn.min(BAR)) as usize) {
        shares[place].1 += 1;
    }
    let letters = shares.iter();
    letters
        .flat_map(|(state, letters, _)| (0..*letters).map(|_| letter(*state)))
        .collect()
}

fn legend(states: &States) -> String {
    let longest = states.longest().into_iter();
    let texts: Vec<String> = longest
        .filter(|(_, length)| *length > Nanoseconds::ZERO)
        .map(|(state, _)| format!("{} {}", letter(state), state.name()))
        .collect();
    format!("{}\n", texts.join("   "))
}

fn letter(state: State) -> char {
    match state {
        State::Running => 'r',
        State::Preempted => 'P',
        State::WaitCpu => 'w',
        State::Interrupted => 'i',
        State::Blocked => 'B',
        State::Timer => 'T',
        State::BlockDevice => 'D',
        State::Network => 'N',
        State::UserInput => 'U',
        State::Ipi => 'I',
        State::BlockedByRequest => 'R',
        State::Unknown => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_full_and_in_proportion() {
        let mut states = States::default();
        states.add(State::Running, Nanoseconds(30));
        states.add(State::Timer, Nanoseconds(60));
        states.add(State::Interrupted, Nanoseconds(1));
        states.add(State::Network, Nanoseconds(5));
        assert_eq!(bar(&states), "TTTTTTTTTTTTTTTrrrrrrrrN");
        assert_eq!(mostly(&states), "TIMER 62 %, RUNNING 31 %");
        assert_eq!(bar(&States::default()), "");
    }
}
