//! While a recording runs: pages to disk, snapshots on demand, looks at `/proc`, and the end.
//!
//! One thread that sleeps until something is to do; nothing is polled for.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use slowpath_model::ProcessId;
use slowpath_platform::clocks::thread_cpu;
use slowpath_platform::process::WatchedChild;
use slowpath_platform::signals::{EndSignal, SignalPipe};
use slowpath_platform::wait::wait_readable;

use crate::control::ControlSocket;
use crate::environment;
use crate::error::RecordError;
use crate::group_quotas::GroupQuotas;
use crate::manifest::Mode;
use crate::options::RecordOptions;
use crate::plan::Plan;
use crate::recorder::{CommandEnd, Recording, group_quotas_failed};
use crate::spans::{MOST_OPERATIONS, News, SpanReceiver};

/// How often `/proc` is looked at, at most.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);
/// A look that took much of a processor's time (4 ms at a service with 400 connections) is followed by a pause this many
/// times as long: looks take one per cent of one processor at most.
const PAUSE_PER_LOOK: u32 = 100;
/// The same of looks at the connections of a few processes, which clients may come and go between.
const PAUSE_PER_CONNECTIONS: u32 = 50;
/// How often control groups are looked at for quotas, at most.
const GROUPS_INTERVAL: Duration = Duration::from_secs(1);
/// How often the changes of quotas are looked at that the kernel tells of, at most.
const CHANGES_INTERVAL: Duration = Duration::from_millis(10);
/// Pages wait no longer than this, so that little is lost with a machine that goes down.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// How long a ring is left alone that called itself readable and had no whole page: kernels before
/// 6.1 wake at the first event, whatever `buffer_percent` says.
const REST: Duration = Duration::from_millis(50);

/// So many snapshots may rules take, lest they fill the disk over night.
const MOST_TRIGGERED: usize = 50;

/// Why a recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    CommandEnded,
    DurationOver,
    Signal(EndSignal),
}

/// The end of a recording: its reason, and the command that may still run.
pub(crate) struct Ended {
    reason: Reason,
    command: Option<(Child, WatchedChild)>,
    signals: SignalPipe,
    processes: Vec<ProcessId>,
}

/// Starts the command and serves the recording until its end.
pub(crate) fn watch(
    recording: &mut Recording,
    options: &RecordOptions,
    plan: &Plan,
    signals: SignalPipe,
    control: &ControlSocket,
    talk: &mut dyn FnMut(&str),
) -> Result<Ended, RecordError> {
    let deadline = options
        .duration
        .and_then(|duration| Instant::now().checked_add(duration));
    let environment = environment::of_command(recording, options, plan, talk);
    if !options.command.is_empty()
        && let Some(signal) = signals.next()
    {
        return Err(RecordError::Interrupted { signal });
    }
    let command = start_command(options, environment)?;
    let mut ended = Ended {
        reason: Reason::CommandEnded,
        command,
        signals,
        processes: options.accounts.clone(),
    };
    if let Some((child, _)) = &ended.command {
        let process = ProcessId(child.id() as i32);
        recording.accounts.look_at(process);
        ended.processes.push(process);
        if let Some(state) = &mut recording.state {
            state.follow(process);
        }
    }
    match serve(recording, &mut ended, control, deadline, talk) {
        Ok(reason) => {
            ended.reason = reason;
            if let Some(probes) = &mut recording.probes {
                probes.look(talk);
            }
        }
        Err(error) => {
            // The command's work is worth more than the recording of it.
            recording.end_early(&error);
            if ended.command.is_some() {
                talk(&format!("recording stopped, the command goes on: {error}"));
            }
            ended.wait_for_command(talk);
            return Err(error);
        }
    }
    Ok(ended)
}

fn start_command(
    options: &RecordOptions,
    environment: Vec<(&'static str, OsString)>,
) -> Result<Option<(Child, WatchedChild)>, RecordError> {
    let Some((program, arguments)) = options.command.split_first() else {
        return Ok(None);
    };
    let failed = |cause| {
        let command = program.to_string_lossy().into_owned();
        RecordError::Command { command, cause }
    };
    let child = Command::new(program)
        .args(arguments)
        .envs(environment)
        .spawn()
        .map_err(failed)?;
    let watched = WatchedChild::new(child.id())
        .map_err(RecordError::system("the command cannot be watched"))?;
    Ok(Some((child, watched)))
}

fn serve(
    recording: &mut Recording,
    ended: &mut Ended,
    control: &ControlSocket,
    deadline: Option<Instant>,
    talk: &mut dyn FnMut(&str),
) -> Result<Reason, RecordError> {
    let mut next_look = Instant::now() + LOOK_INTERVAL;
    let mut next_groups = Instant::now() + GROUPS_INTERVAL;
    let mut next_sweep = Instant::now() + SWEEP_INTERVAL;
    let mut next_changes = Instant::now();
    let mut next_connections = Instant::now() + LOOK_INTERVAL;
    let mut next_room = Some(Instant::now());
    let mut resting: Vec<usize> = Vec::new();
    loop {
        let now = Instant::now();
        if deadline.is_some_and(|deadline| now >= deadline) {
            return Ok(Reason::DurationOver);
        }
        let first = next_look.min(next_groups).min(next_sweep);
        let first = next_room.map_or(first, |room| first.min(room));
        let first = match recording.probes {
            Some(_) => first.min(next_connections),
            None => first,
        };
        let mut limit = first.saturating_duration_since(now);
        if let Some(deadline) = deadline {
            limit = limit.min(deadline - now);
        }
        if !resting.is_empty() {
            limit = limit.min(REST);
        }
        let hears_changes = now >= next_changes;
        if !hears_changes {
            limit = limit.min(next_changes - now);
        }
        let readable = wait(recording, ended, control, &resting, hears_changes, limit)?;
        if let Some(signal) = ended.signals.next() {
            return Ok(Reason::Signal(signal));
        }
        if readable.control {
            control.answer(|| recording.take_snapshot(None));
        }
        if readable.news_of_rules {
            snapshots_by_rules(recording, talk);
        }
        if readable.changed_quotas
            && let Some(quotas) = &mut recording.group_quotas
        {
            let begin = thread_cpu();
            quotas.look_at_changed().map_err(group_quotas_failed())?;
            next_changes = next(CHANGES_INTERVAL, PAUSE_PER_LOOK, begin);
        }
        resting = drain(recording, &readable.rings)?;
        if ended
            .command
            .as_ref()
            .is_some_and(|(_, watched)| watched.has_ended())
        {
            return Ok(Reason::CommandEnded);
        }
        let now = Instant::now();
        if next_room.is_some_and(|room| now >= room) {
            next_room = recording.look_at_room()?.map(|next| now + next);
        }
        if now >= next_sweep {
            let all: Vec<usize> = (0..recording.ring_count()).collect();
            drain(recording, &all)?;
            next_sweep = now + SWEEP_INTERVAL;
        }
        if now >= next_look {
            let begin = thread_cpu();
            look(recording, ended)?;
            next_look = next(LOOK_INTERVAL, PAUSE_PER_LOOK, begin);
        }
        let now = Instant::now();
        if now >= next_connections
            && let Some(probes) = &mut recording.probes
        {
            let begin = thread_cpu();
            probes.look(talk);
            next_connections = next(LOOK_INTERVAL, PAUSE_PER_CONNECTIONS, begin);
        }
        let now = Instant::now();
        if now >= next_groups {
            let begin = thread_cpu();
            if let Some(quotas) = &mut recording.group_quotas {
                quotas.look_for_news().map_err(group_quotas_failed())?;
            }
            next_groups = next(GROUPS_INTERVAL, PAUSE_PER_LOOK, begin);
        }
    }
}

/// When to do again what this thread had used `begin` of a processor's time before. That it waited for a processor costs
/// nobody anything: on a busy machine a look takes a hundred times as long as it costs.
fn next(interval: Duration, pause_per_time: u32, begin: Duration) -> Instant {
    let took = thread_cpu().saturating_sub(begin);
    Instant::now() + interval.max(took * pause_per_time)
}

struct Readable {
    control: bool,
    news_of_rules: bool,
    changed_quotas: bool,
    rings: Vec<usize>,
}

fn wait(
    recording: &Recording,
    ended: &Ended,
    control: &ControlSocket,
    resting: &[usize],
    hears_changes: bool,
    limit: Duration,
) -> Result<Readable, RecordError> {
    let mut descriptors = vec![control.descriptor()];
    descriptors.extend(ended.signals.descriptors());
    descriptors.extend(
        ended
            .command
            .as_ref()
            .map(|(_, watched)| watched.descriptor()),
    );
    let receiver = recording.receiver.as_ref();
    let of_rules = receiver.and_then(SpanReceiver::descriptor);
    let rules_position = of_rules.is_some().then_some(descriptors.len());
    descriptors.extend(of_rules);
    let of_quotas = recording.group_quotas.as_ref().filter(|_| hears_changes);
    let of_quotas = of_quotas.and_then(GroupQuotas::descriptor);
    let quotas_position = of_quotas.is_some().then_some(descriptors.len());
    descriptors.extend(of_quotas);
    let first_ring = descriptors.len();
    let mut positions = Vec::new();
    // A flight recorder's rings stay where they are.
    if let (Mode::Standard, Some(instance)) = (recording.mode, &recording.instance) {
        for (position, ring) in instance.rings().enumerate() {
            if !resting.contains(&position) {
                descriptors.push(ring);
                positions.push(position);
            }
        }
    }
    let readable = wait_readable(&descriptors, limit).map_err(RecordError::system("waiting"))?;
    let rings = positions.into_iter().zip(&readable[first_ring..]);
    Ok(Readable {
        control: readable[0],
        news_of_rules: rules_position.is_some_and(|position| readable[position]),
        changed_quotas: quotas_position.is_some_and(|position| readable[position]),
        rings: rings
            .filter(|(_, readable)| **readable)
            .map(|(position, _)| position)
            .collect(),
    })
}

/// Takes a snapshot for each rule that was broken, and says so; says which rules cover too much.
fn snapshots_by_rules(recording: &mut Recording, talk: &mut dyn FnMut(&str)) {
    let Some(receiver) = &mut recording.receiver else {
        return;
    };
    let News { broken, crowded } = receiver.take_news_of_rules();
    for rule in crowded {
        talk(&format!(
            "{rule}: fits more than {MOST_OPERATIONS} operations at once; \
             those not heard from for longest are not watched"
        ));
    }
    for trigger in broken {
        let taken = recording.triggered_snapshots();
        if taken >= MOST_TRIGGERED {
            continue;
        }
        let rule = trigger.rule.clone();
        match recording.take_snapshot(Some(trigger)) {
            Ok(folder) => {
                let before = recording
                    .last_trigger()
                    .and_then(|last| last.before.as_ref());
                let begins = before.map_or(String::new(), |before| {
                    format!("; requests that it names begin in {before}")
                });
                talk(&format!("{rule}: snapshot in {}{begins}", folder.display()));
            }
            Err(cause) => talk(&format!("{rule}: no snapshot: {cause}")),
        }
        if taken + 1 == MOST_TRIGGERED {
            talk(&format!(
                "rules have taken {MOST_TRIGGERED} snapshots and take no more; \
                 `slowpath snapshot` still does"
            ));
        }
    }
}

/// Writes the pages of the rings at `positions`; returns those that had none.
fn drain(recording: &mut Recording, positions: &[usize]) -> Result<Vec<usize>, RecordError> {
    let (Some(instance), Some(pages)) = (&recording.instance, &mut recording.pages) else {
        return Ok(Vec::new());
    };
    let mut without = Vec::new();
    for position in positions {
        let moved = instance
            .drain(pages, *position)
            .map_err(RecordError::system("kernel events could not be written"))?;
        if moved == 0 {
            without.push(*position);
        }
    }
    Ok(without)
}

/// Notes what is new in `/proc`.
fn look(recording: &mut Recording, ended: &mut Ended) -> Result<(), RecordError> {
    if let Some(state) = &mut recording.state {
        state.look_for_news().map_err(RecordError::system(
            "the list of processes could not be written",
        ))?;
        let entered = state.take_entered();
        if let Some(quotas) = &mut recording.group_quotas {
            quotas.look_at_new(entered).map_err(group_quotas_failed())?;
        }
        for process in state.command_processes() {
            if !ended.processes.contains(&process) {
                ended.processes.push(process);
            }
        }
    }
    for process in &ended.processes {
        recording.accounts.look_at(*process);
    }
    Ok(())
}

impl Ended {
    /// The processes whose accounts are kept.
    pub(crate) fn processes(&self) -> impl Iterator<Item = ProcessId> {
        self.processes.iter().copied()
    }

    /// Ends the command where it is ours to end, and waits for it. The first signal asks it to end, unless it
    /// was asked already; the next one kills it.
    pub(crate) fn wait_for_command(self, talk: &mut dyn FnMut(&str)) -> CommandEnd {
        let Self {
            reason,
            command,
            signals,
            ..
        } = self;
        let Some((mut child, watched)) = command else {
            return CommandEnd::NoCommand;
        };
        // Where the recording could not go on, the command does.
        let mut asked_at = (reason != Reason::CommandEnded).then(|| ask_to_end(&watched, reason));
        let mut has_said_so = false;
        while !watched.has_ended() {
            let mut descriptors = vec![watched.descriptor()];
            descriptors.extend(signals.descriptors());
            let waited = wait_readable(&descriptors, SWEEP_INTERVAL);
            match (signals.next(), asked_at) {
                _ if waited.is_err() => watched.kill(),
                (Some(signal), None) => {
                    asked_at = Some(ask_to_end(&watched, Reason::Signal(signal)));
                }
                (Some(_), Some(_)) => watched.kill(),
                (None, Some(at)) if at.elapsed() >= SWEEP_INTERVAL && !has_said_so => {
                    if !watched.has_ended() {
                        talk("waiting for the command to end (Ctrl-C kills it)");
                        has_said_so = true;
                    }
                }
                (None, _) => {}
            }
        }
        match (child.wait(), reason) {
            (_, Reason::DurationOver) => CommandEnd::ByDuration,
            (Ok(status), _) => CommandEnd::ByItself(shell_status(status)),
            // The status is gone when somebody else reaped our child.
            (Err(_), _) => CommandEnd::ByItself(0),
        }
    }
}

/// Asks the command to end, unless the terminal has: it sends Ctrl-C to the command as well, where a signal from
/// elsewhere reaches us only. Returns when.
fn ask_to_end(command: &WatchedChild, reason: Reason) -> Instant {
    let by_terminal =
        reason == Reason::Signal(EndSignal::Interrupt) && std::io::stdin().is_terminal();
    if !by_terminal {
        command.terminate();
    }
    Instant::now()
}

/// An exit status as a shell's `$?` has it.
fn shell_status(status: ExitStatus) -> i32 {
    status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_come_less_often_for_what_they_cost_not_for_how_long_they_wait() {
        let begin = thread_cpu();
        std::thread::sleep(Duration::from_millis(50));
        let after_waiting = next(LOOK_INTERVAL, PAUSE_PER_LOOK, begin);
        assert!(after_waiting < Instant::now() + 4 * LOOK_INTERVAL);
        while thread_cpu() - begin < Duration::from_millis(10) {
            std::hint::spin_loop();
        }
        let after_work = next(LOOK_INTERVAL, PAUSE_PER_LOOK, begin);
        assert!(after_work > Instant::now() + 4 * LOOK_INTERVAL);
    }
}
