//! The explorer's loop: asks the policy, plans trials in a random and interleaved order, runs them, keeps the results.
//!
//! After Pseudocode 1 of Go and Colmenares (2016). One explorer works in a folder at a time: it holds a lock, and so does
//! its guardian, a process that puts everything away when the explorer is killed.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use slowpath_platform::process::{Guardian, Parting, start_time};
use slowpath_platform::signals::SignalPipe;

use crate::policy::{Policy, PolicyError, Seen, Wanted};
use crate::remote::{Place, Whose};
use crate::run::{self, Ended, RunError};
use crate::spec::{Limits, Spec};
use crate::store::{self, About, FILE_NAME, Planned, Store, StoreError};
use crate::trial::{Trial, by_configuration};
use crate::value::Configuration;

/// Where so many configurations failed alike, and nothing else was seen, it is the specification that is wrong.
const HOPELESS: usize = 3;

/// More trials at once nobody will wait for.
const MOST_PLANNED: u64 = 1_000_000;

/// How long a killed explorer's guardian may need to put everything away.
const GUARDIAN_LIMIT: Duration = Duration::from_secs(120);

/// Why an exploration cannot be begun or go on.
#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Trials cannot be run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The policy cannot go on.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The folder cannot be used.
    #[error("the folder {} cannot be used", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system answered.
        #[source]
        cause: io::Error,
    },
    /// There is an exploration, and nobody said what is to become of it.
    #[error("{0}")]
    Exists(String),
    /// There is none to go on with.
    #[error("there is no exploration in {}\n  hint: leave out --resume and --results to begin one", .0.display())]
    Nothing(PathBuf),
    /// Another explorer works here.
    #[error("another explorer (process {pid}) works in {}\n  hint: wait for it, or name another folder by -o", folder.display())]
    Busy {
        /// The folder.
        folder: PathBuf,
        /// The other explorer.
        pid: String,
    },
    /// The specification says something else than when the exploration began.
    #[error("the specification has changed since the exploration in {} began, or a template of it has\n  hint: undo that (only [limits] and [agent] may change), begin anew with --overwrite, or name another folder by -o", .0.display())]
    Changed(PathBuf),
    /// All trials so far have failed alike.
    #[error("the first {count} trials all failed alike: {what}\n  hint: what they printed is in {}; then --resume goes on, or --overwrite begins anew", output.display())]
    Hopeless {
        /// How many.
        count: usize,
        /// How the last one did.
        what: String,
        /// Where their output is.
        output: PathBuf,
    },
    /// Something went wrong, and then what trials changed could not be restored.
    #[error(
        "what trials changed could not be restored: {restore}\n  hint: what the commands printed is in output/restore.log of the folder; --resume tries again\nbefore that"
    )]
    RestoreToo {
        /// What went wrong first.
        #[source]
        first: Box<Self>,
        /// What could not be restored.
        restore: String,
    },
    /// What trials changed could not be restored.
    #[error(
        "what trials changed could not be restored: {0}\n  hint: what the commands printed is in output/restore.log of the folder; --resume tries again"
    )]
    Restore(String),
}

/// What is to become of an exploration that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// There must be none.
    New,
    /// It is removed.
    Overwrite,
    /// It goes on.
    Resume,
}

/// What happens, for those who watch.
#[derive(Clone, Copy, Debug)]
pub enum Event<'run> {
    /// So many trials were running when an earlier explorer ended, and are run again.
    Again(u64),
    /// A trial begins; so many have ended of so many that are planned.
    Begins {
        /// Its configuration.
        configuration: &'run Configuration,
        /// How many have ended.
        ended: u64,
        /// How many are planned, ended ones among them.
        planned: u64,
    },
    /// A trial has ended.
    Ends(&'run Trial),
}

/// Why an exploration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The policy wants nothing more.
    Policy,
    /// It has had all of its trials.
    Trials,
    /// It has had all of its time.
    Time,
}

impl End {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Policy => "the policy was done",
            Self::Trials => "all trials that `limits` allows were run",
            Self::Time => "all the time that `limits` allows was spent",
        }
    }
}

/// An exploration in its folder, which nobody else works in meanwhile.
pub struct Exploration {
    spec: Spec,
    folder: PathBuf,
    token: String,
    store: Store,
    guardian: Option<Guardian>,
    _lock: File,
}

impl Exploration {
    /// Begins an exploration in `folder`, or goes on with the one there. No other thread may run yet: a process is
    /// forked.
    ///
    /// # Errors
    /// See [`ExploreError`].
    pub fn open(spec: Spec, text: &str, folder: &Path, begin: Begin) -> Result<Self, ExploreError> {
        let unusable = |cause| ExploreError::Folder {
            folder: folder.to_owned(),
            cause,
        };
        let exists = folder.join(FILE_NAME).exists();
        match begin {
            Begin::New if exists => {
                // One that runs cannot be gone on with.
                let _lock = lock(&folder.canonicalize().map_err(unusable)?)?;
                return Err(already_there(folder));
            }
            Begin::Resume if !exists => return Err(ExploreError::Nothing(folder.to_owned())),
            _ => {}
        }
        if !exists
            && fs::read_dir(folder).is_ok_and(|mut inside| inside.any(|one| !is_unfinished(one)))
        {
            let what = format!(
                "{} holds something else than an exploration\n  hint: name another folder by -o",
                folder.display()
            );
            return Err(ExploreError::Exists(what));
        }
        fs::create_dir_all(folder).map_err(unusable)?;
        let folder = folder.canonicalize().map_err(unusable)?;
        let lock = lock(&folder)?;
        // Of an explorer that was killed together with its guardian.
        if exists
            && spec.agent.is_none()
            && let Ok(about) = Store::open(&folder).and_then(|store| store.about())
        {
            run::end_leftovers(&about.token);
            if begin == Begin::Overwrite && about.needs_restore {
                run::restore(&spec, &absolute(&spec.folder), &folder)
                    .map_err(ExploreError::Restore)?;
            }
        }
        if begin == Begin::Overwrite {
            remove(&folder).map_err(unusable)?;
        }
        if !folder.join(FILE_NAME).exists() {
            drop(Store::create(
                &folder,
                &new_token(),
                text,
                &spec.file_texts(),
            )?);
        }
        let token = {
            let about = Store::open(&folder)?.about()?;
            if change(&about, &spec) > Change::Limits {
                return Err(ExploreError::Changed(folder));
            }
            about.token
        };
        let group = run::own_group();
        // Forked while no connection to the store is open, as these must not be carried over.
        let duty = |parting| {
            // An agent does so by itself.
            if parting == Parting::Silence && spec.agent.is_none() {
                put_away(&spec, &folder, &token);
                run::end_definitions(&spec.metrics, &group);
            }
        };
        let guardian = Guardian::fork(duty).map_err(|cause| ExploreError::Folder {
            folder: folder.clone(),
            cause,
        })?;
        let store = Store::open(&folder)?;
        Ok(Self {
            spec,
            folder,
            token,
            store,
            guardian: Some(guardian),
            _lock: lock,
        })
    }

    /// The specification.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The folder, absolute.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The store.
    pub fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Runs trials until the policy or a limit ends it; restores in any case.
    ///
    /// # Errors
    /// See [`ExploreError`]. Whatever has ended is kept then.
    pub fn run(
        &mut self,
        policy: &mut dyn Policy,
        signals: &SignalPipe,
        text: &str,
        watch: &mut dyn FnMut(Event<'_>),
    ) -> Result<End, ExploreError> {
        policy.watch(signals)?;
        let again = self.store.take_up(text)?;
        if again > 0 {
            watch(Event::Again(again));
        }
        let whose = Whose {
            spec: &self.spec,
            text,
            folder: &self.folder,
            token: &self.token,
        };
        let mut runner = Place::of(&whose, self.spared(policy), signals)?;
        let was_changed = self.store.about()?.needs_restore;
        let ended = rounds(&self.spec, &mut self.store, policy, &mut runner, watch)
            .map_err(|error| or_interrupted(error, signals));
        // Whatever happened; of an agent that was never reached, what an earlier run changed stays to be restored.
        let may_have_run = runner.may_have_run();
        let restored = match self.store.about()?.needs_restore && may_have_run {
            true => runner.restore(),
            false => Ok(()),
        };
        drop(runner);
        if restored.is_ok() && (may_have_run || !was_changed) {
            self.store.restored()?;
        }
        let end = both(ended, restored)?;
        let trials = self.store.trials()?;
        let batches = trials.last().map_or(0, |last| last.batch + 1);
        let conclusions = policy.conclusions(Seen {
            spec: &self.spec,
            trials: &trials,
            batches,
        });
        let conclusions = conclusions.map_err(|error| or_interrupted(error.into(), signals))?;
        self.store.finish(end.words(), &conclusions)?;
        Ok(end)
    }

    /// Runs one more trial of a configuration, which does not count, with the workload as the last arguments of
    /// `wrapped`; for instance to record it.
    ///
    /// # Errors
    /// See [`ExploreError`].
    pub fn repeat(
        &mut self,
        configuration: &Configuration,
        wrapped: &[String],
        signals: &SignalPipe,
    ) -> Result<Ended, ExploreError> {
        let text = self.store.about()?.specification;
        let whose = Whose {
            spec: &self.spec,
            text: &text,
            folder: &self.folder,
            token: &self.token,
        };
        let mut runner = Place::of(&whose, self.spared_guardian(), signals)?;
        self.store.needs_restore()?;
        let planned = Planned {
            id: 0,
            batch: 0,
            configuration: configuration.clone(),
        };
        let ended = runner.run(&planned, None, wrapped, None);
        let restored = run::restore(&self.spec, &absolute(&self.spec.folder), &self.folder);
        if restored.is_ok() {
            self.store.restored()?;
        }
        both(ended.map_err(ExploreError::Run), restored)
    }

    fn spared_guardian(&self) -> BTreeSet<i32> {
        self.guardian.iter().map(Guardian::pid).collect()
    }

    fn spared(&self, policy: &dyn Policy) -> BTreeSet<i32> {
        let mut spared = self.spared_guardian();
        spared.extend(policy.process());
        spared
    }
}

impl Drop for Exploration {
    fn drop(&mut self) {
        if let Some(guardian) = self.guardian.take() {
            // In silence it would restore; that has been done, or tried, and told.
            guardian.dismiss(Parting::Goodbye);
        }
    }
}

/// What went wrong: in the trials, with restoring, or both.
fn both<T>(
    ended: Result<T, ExploreError>,
    restored: Result<(), String>,
) -> Result<T, ExploreError> {
    match (ended, restored) {
        (ended, Ok(())) => ended,
        (Ok(_), Err(restore)) => Err(ExploreError::Restore(restore)),
        (Err(first), Err(restore)) => Err(ExploreError::RestoreToo {
            first: Box::new(first),
            restore,
        }),
    }
}

/// A policy that did not answer because the user wants an end is not what went wrong.
fn or_interrupted(error: ExploreError, signals: &SignalPipe) -> ExploreError {
    match error {
        ExploreError::Policy(_) => match signals.next() {
            Some(signal) => RunError::Interrupted(signal).into(),
            None => error,
        },
        _ => error,
    }
}

/// Trials until the policy or a limit ends it.
fn rounds(
    spec: &Spec,
    store: &mut Store,
    policy: &mut dyn Policy,
    runner: &mut Place<'_>,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<End, ExploreError> {
    let mut trials = store.trials()?;
    let earlier = trials.len();
    let before = Duration::from_millis(store.about()?.spent_ms);
    let begin = Instant::now();
    loop {
        let Limits { trials: most, time } = spec.limits;
        if most.is_some_and(|most| trials.len() as u64 >= most) {
            return Ok(End::Trials);
        }
        if time.is_some_and(|time| before + begin.elapsed() >= time) {
            return Ok(End::Time);
        }
        let Some(planned) = store.next()? else {
            let batches = trials.last().map_or(0, |last| last.batch + 1);
            let wanted = policy.next(Seen {
                spec,
                trials: &trials,
                batches,
            })?;
            if wanted.is_empty() {
                return Ok(End::Policy);
            }
            store.plan(batches, &ordered(&wanted, spec.trials.seed, batches)?)?;
            continue;
        };
        let (planned_count, ended) = store.counts()?;
        let planned_count = most.map_or(planned_count, |most| planned_count.min(most));
        watch(Event::Begins {
            configuration: &planned.configuration,
            ended,
            planned: planned_count,
        });
        store.begin(planned.id)?;
        let ended = match one(&planned, policy, runner) {
            Ok(ended) => ended,
            Err(error) => {
                store.put_back(planned.id)?;
                return Err(error);
            }
        };
        store.end(
            planned.id,
            &ended.outcome,
            &ended.measures,
            &ended.notes,
            ended.took.as_millis() as u64,
        )?;
        trials.push(Trial {
            id: planned.id,
            batch: planned.batch,
            configuration: planned.configuration,
            outcome: ended.outcome,
            measures: ended.measures,
            notes: ended.notes,
        });
        let Some(last) = trials.last() else { continue };
        watch(Event::Ends(last));
        let here = &trials[earlier..];
        if is_hopeless(here) && trials.iter().all(|trial| trial.has_failed_like(last)) {
            return Err(ExploreError::Hopeless {
                count: trials.len(),
                what: last.outcome.words().to_owned(),
                output: runner.output_folder(),
            });
        }
    }
}

/// Whether the last of these is the first one of the configuration that makes them `HOPELESS`. Trials of one configuration
/// say nothing of the specification: a policy may want a single one at first, and that may be the one that crashes.
fn is_hopeless(trials: &[Trial]) -> bool {
    let groups = by_configuration(trials);
    groups.len() == HOPELESS && groups.last().is_some_and(|group| group.len() == 1)
}

fn one(
    planned: &Planned,
    policy: &mut dyn Policy,
    runner: &mut Place<'_>,
) -> Result<Ended, ExploreError> {
    let limit = policy.max_duration(&planned.configuration)?;
    if !policy.looks_at_runs() {
        return Ok(runner.run(planned, limit, &[], None)?);
    }
    let mut failed = None;
    let mut stop_run = |metric: &str, value: f64| {
        let answer = policy.stop_run(&planned.configuration, metric, value);
        answer.unwrap_or_else(|error| {
            failed = Some(error);
            true
        })
    };
    let ended = runner.run(planned, limit, &[], Some(&mut stop_run))?;
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(ended),
    }
}

/// The order in which trials run: rounds, each with every configuration that is still wanted once, shuffled by itself. So
/// what changes meanwhile on the machine meets all configurations alike.
fn ordered(
    wanted: &[Wanted],
    seed: u64,
    batch: u32,
) -> Result<Vec<(u32, Configuration)>, PolicyError> {
    let count: u64 = wanted.iter().map(|one| u64::from(one.trials)).sum();
    if count > MOST_PLANNED {
        return Err(PolicyError(format!(
            "{count} trials are wanted at once, and {MOST_PLANNED} at most can be planned\n  hint: fewer for each configuration, or fewer configurations"
        )));
    }
    let rounds = wanted.iter().map(|one| one.trials).max().unwrap_or(0);
    let mut random = fastrand::Rng::with_seed(seed ^ (u64::from(batch) << 32));
    let mut all = Vec::new();
    for round in 0..rounds {
        let mut of_round: Vec<_> = wanted.iter().filter(|one| one.trials > round).collect();
        random.shuffle(&mut of_round);
        all.extend(
            of_round
                .into_iter()
                .map(|one| (round, one.configuration.clone())),
        );
    }
    Ok(all)
}

/// Takes the lock of a folder; waits for the guardian of an explorer that was killed.
fn lock(folder: &Path) -> Result<File, ExploreError> {
    let unusable = |cause| ExploreError::Folder {
        folder: folder.to_owned(),
        cause,
    };
    let path = folder.join("lock");
    let file = File::options()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&path)
        .map_err(unusable)?;
    let begin = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::Error(cause)) => return Err(unusable(cause)),
            Err(TryLockError::WouldBlock) => {
                let holder = fs::read_to_string(&path).unwrap_or_default();
                if begin.elapsed() > GUARDIAN_LIMIT || is_alive(&holder) {
                    let pid = holder.split(' ').next().unwrap_or_default().to_owned();
                    return Err(ExploreError::Busy {
                        folder: folder.to_owned(),
                        pid,
                    });
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
    let own = std::process::id();
    let start = start_time(own as i32).map_or(0, |start| start.0);
    fs::write(&path, format!("{own} {start}")).map_err(unusable)?;
    Ok(file)
}

/// Whether an explorer works in this folder.
pub(crate) fn is_at_work(folder: &Path) -> bool {
    is_alive(&fs::read_to_string(folder.join("lock")).unwrap_or_default())
}

/// Whether the explorer whose number and start time these are still runs.
fn is_alive(holder: &str) -> bool {
    let alive = || {
        let (pid, start) = holder.split_once(' ')?;
        let since = start_time(pid.parse().ok()?)?;
        Some(since.0 == start.parse::<u64>().ok()?)
    };
    alive().unwrap_or(false)
}

/// Whether this may lie in a folder where no exploration has begun: one that was killed while it began left it.
fn is_unfinished(entry: io::Result<fs::DirEntry>) -> bool {
    let names = ["lock", store::UNFINISHED[0], store::UNFINISHED[1]];
    entry.is_ok_and(|entry| names.iter().any(|name| entry.file_name() == *name))
}

/// What the guardian does when the explorer was killed.
fn put_away(spec: &Spec, folder: &Path, token: &str) {
    run::end_leftovers(token);
    let Ok(mut store) = Store::open(folder) else {
        return;
    };
    if store.about().is_ok_and(|about| about.needs_restore)
        && run::restore(spec, &absolute(&spec.folder), folder).is_ok()
    {
        let _ = store.restored();
    }
}

fn absolute(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

/// Removes what an exploration wrote, and nothing else.
fn remove(folder: &Path) -> io::Result<()> {
    let missing_is_fine = |result: io::Result<()>| match result {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    };
    for name in ["output", "scratch", "recommended", "recordings"] {
        missing_is_fine(fs::remove_dir_all(folder.join(name)))?;
    }
    let [unfinished, its_journal] = store::UNFINISHED;
    for name in [
        FILE_NAME,
        "exploration.sqlite-journal",
        unfinished,
        its_journal,
    ] {
        missing_is_fine(fs::remove_file(folder.join(name)))?;
    }
    Ok(())
}

fn already_there(folder: &Path) -> ExploreError {
    let state = Store::open(folder).and_then(|store| Ok((store.about()?.end, store.counts()?)));
    let folder = folder.display();
    ExploreError::Exists(match state {
        Ok((None, (planned, ended))) => format!(
            "the exploration in {folder} stopped after {ended} of {planned} planned trials\n  hint: --resume goes on, --results table shows what there is, --overwrite begins anew"
        ),
        Ok((Some(end), (_, ended))) => format!(
            "the exploration in {folder} has ended after {ended} trials, as {end}\n  hint: --results table shows it, --resume asks the policy for more, --overwrite begins anew"
        ),
        Err(error) => format!("the exploration in {folder} cannot be read: {error}"),
    })
}

/// How much a specification has changed since an exploration began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// At most when it ends.
    Limits,
    /// How its trials are judged, too: objectives, confidence, what reasons are told for.
    Judgement,
    /// What its trials are.
    Trials,
}

/// How much `spec` differs from what the exploration began with.
pub fn change(about: &About, spec: &Spec) -> Change {
    let load = |path: &Path| fs::read_to_string(path);
    let text = &about.specification;
    let Ok(mut then) = Spec::parse(text, "", &spec.name, &spec.folder, &load) else {
        return Change::Trials;
    };
    if about.files != spec.file_texts() {
        return Change::Trials;
    }
    then.limits = spec.limits.clone();
    then.agent.clone_from(&spec.agent);
    if then == *spec {
        return Change::Limits;
    }
    then.objectives = spec.objectives.clone();
    then.trials.confidence = spec.trials.confidence;
    then.why = spec.why.clone();
    match then == *spec {
        true => Change::Judgement,
        false => Change::Trials,
    }
}

/// Tells this exploration's processes from those of any other.
fn new_token() -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    format!("{}-{:x}", std::process::id(), now.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(number: i64, trials: u32) -> Wanted {
        let configuration = Configuration::from_key(&format!("{{\"x\":{number}}}")).expect("JSON");
        Wanted {
            configuration,
            trials,
        }
    }

    #[test]
    fn the_order_is_random_interleaved_and_the_same_for_the_same_seed() {
        let wanted: Vec<Wanted> = (0..20)
            .map(|number| one(number, if number < 5 { 3 } else { 2 }))
            .collect();
        let ordered = |seed, batch| ordered(&wanted, seed, batch).expect("not too many");
        let order = ordered(7, 0);
        assert_eq!(order, ordered(7, 0));
        assert_ne!(order, ordered(8, 0));
        assert_ne!(order, ordered(7, 1));
        assert_eq!(order.len(), 45);
        let rounds: Vec<u32> = order.iter().map(|(round, _)| *round).collect();
        assert!(rounds.is_sorted(), "each round before the next");
        let (first, second) = (&order[..20], &order[20..40]);
        let keys = |part: &[(u32, Configuration)]| {
            part.iter().map(|(_, one)| one.key()).collect::<Vec<_>>()
        };
        assert_ne!(keys(first), keys(second), "rounds have orders of their own");
        let sorted = |part| keys(part).into_iter().collect::<BTreeSet<_>>();
        assert_eq!(sorted(first), sorted(second));
    }

    #[test]
    fn more_trials_than_can_be_planned_are_refused() {
        let error = ordered(&[one(1, 4_000_000_000), one(2, 1)], 7, 0).expect_err("too many");
        assert!(
            error.0.starts_with("4000000001 trials are wanted at once"),
            "{error}"
        );
    }
}
