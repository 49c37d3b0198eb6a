//! Where an exploration is kept: one SQLite database in its folder.
//!
//! A trial is planned, begun and ended, each in a transaction of its own, so that whatever kills the explorer leaves
//! every trial either ended, with all of its measures, or to be run again. Nothing else is kept between runs.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use serde::Serialize;
use utoipa::ToSchema;

use crate::trial::{Outcome, Trial};
use crate::value::Configuration;

/// The version of the database that this crate writes and reads.
const FORMAT: i64 = 2;

/// Its name in the folder of an exploration.
pub const FILE_NAME: &str = "exploration.sqlite";

/// What is there while one is made, and stays when the explorer is killed then.
pub(crate) const UNFINISHED: [&str; 2] = ["exploration.new", "exploration.new-journal"];

const TABLES: &str = "
CREATE TABLE exploration (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    format INTEGER NOT NULL,
    token TEXT NOT NULL,             -- in the environment of everything that trials start
    specification TEXT NOT NULL,     -- its text
    files TEXT NOT NULL,             -- JSON: the templates of its files as they were
    began_ns INTEGER NOT NULL,       -- nanoseconds since the epoch
    spent_ms INTEGER NOT NULL,       -- in trials, over all runs of the explorer
    end TEXT,                        -- why the exploration has ended; NULL while it has not
    needs_restore INTEGER NOT NULL   -- whether commands have run that `restore` is to undo
);
CREATE TABLE trials (
    id INTEGER PRIMARY KEY,          -- in the order in which they run
    batch INTEGER NOT NULL,          -- which time the policy was asked
    round INTEGER NOT NULL,          -- which trial of its configuration in the batch
    configuration TEXT NOT NULL,     -- JSON: values by parameter
    state TEXT NOT NULL CHECK (state IN ('planned', 'running', 'ended')),
    attempts INTEGER NOT NULL DEFAULT 0,
    began_ns INTEGER,
    ended_ns INTEGER,
    outcome TEXT,                    -- good, stopped, or the kind of failure
    words TEXT                       -- why it failed, else what its measures lack
);
CREATE TABLE measures (
    trial INTEGER NOT NULL REFERENCES trials (id),
    metric TEXT NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (trial, metric)
) WITHOUT ROWID;
CREATE TABLE conclusions (
    number INTEGER PRIMARY KEY,
    words TEXT NOT NULL
);
CREATE TABLE reasons (
    number INTEGER PRIMARY KEY,
    words TEXT NOT NULL
);
";

/// Came later, and older stores of the same format lack it: whoever writes reasons makes it.
const REASONS_ABOUT: &str = "
CREATE TABLE IF NOT EXISTS reasons_about (
    reason INTEGER NOT NULL,         -- a number of `reasons`
    configuration TEXT NOT NULL
);
DELETE FROM reasons_about;
";

/// The store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk is full; named so that callers can tell it from the rest.
    #[error("the results cannot be written")]
    Full(#[source] io::Error),
    /// Somebody else writes for longer than one waits.
    #[error("the store of the exploration is being written\n  hint: try again in a moment")]
    Busy,
    /// It was written by another version.
    #[error(
        "the exploration was written by another version of slowpath (format {0})\n  hint: use that one, or begin anew with --overwrite"
    )]
    Format(i64),
    /// What it holds is not what this crate writes.
    #[error("the store is damaged: {0}\n  hint: begin anew with --overwrite")]
    Damaged(String),
    /// Something else.
    #[error("the store of the exploration cannot be used: {0}")]
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DiskFull) => Self::Full(io::ErrorKind::StorageFull.into()),
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                Self::Damaged(error.to_string())
            }
            _ => Self::Sqlite(error),
        }
    }
}

type Result<T> = std::result::Result<T, StoreError>;

/// The store of one exploration.
#[derive(Debug)]
pub struct Store {
    database: Connection,
}

/// What is known of an exploration as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Stands in the environment of everything that trials start.
    pub token: String,
    /// The text of the specification.
    pub specification: String,
    /// The templates of its files, as they were when the exploration began.
    pub files: Vec<String>,
    /// Milliseconds spent in trials so far.
    pub spent_ms: u64,
    /// Why it has ended; `None` where it has not.
    pub end: Option<String>,
    /// Whether commands have run that `restore` is to undo.
    pub needs_restore: bool,
}

/// Why configurations differ, or where that can be looked up.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Reason {
    /// A sentence.
    pub words: String,
    /// The configurations that it is about, the better one first; none where it is about all.
    pub about: Vec<Configuration>,
}

/// A trial that is to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// Its number.
    pub id: i64,
    /// Which time the policy was asked.
    pub batch: u32,
    /// What it runs with.
    pub configuration: Configuration,
}

impl Store {
    /// Makes the store of a new exploration in `folder`.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn create(folder: &Path, token: &str, specification: &str, files: &[&str]) -> Result<Self> {
        // Under another name first, so that a killed explorer leaves none that is half made.
        let (unfinished, path) = (folder.join(UNFINISHED[0]), folder.join(FILE_NAME));
        for name in UNFINISHED {
            let _ = std::fs::remove_file(folder.join(name));
        }
        let database = Connection::open(&unfinished)?;
        database.execute_batch(&format!("BEGIN; {TABLES} COMMIT;"))?;
        database.execute(
            "INSERT INTO exploration VALUES (1, ?, ?, ?, ?, ?, 0, NULL, 0)",
            params![
                FORMAT,
                token,
                specification,
                serde_json::Value::from(files.to_vec()).to_string(),
                now_ns()
            ],
        )?;
        drop(database);
        std::fs::rename(unfinished, &path)
            .map_err(|cause| StoreError::Damaged(format!("{}: {cause}", path.display())))?;
        Self::open(folder)
    }

    /// Opens the store in `folder`.
    ///
    /// # Errors
    /// Where there is none, or it was written by another version.
    pub fn open(folder: &Path) -> Result<Self> {
        let flags =
            rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE | rusqlite::OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database = Connection::open_with_flags(folder.join(FILE_NAME), flags)?;
        database.pragma_update(None, "synchronous", "FULL")?;
        database.busy_timeout(std::time::Duration::from_secs(10))?;
        let format = database.query_row("SELECT format FROM exploration", [], |row| row.get(0))?;
        match format {
            FORMAT => Ok(Self { database }),
            other => Err(StoreError::Format(other)),
        }
    }

    /// What is known of the exploration as a whole.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn about(&self) -> Result<About> {
        let columns =
            "SELECT token, specification, files, spent_ms, end, needs_restore FROM exploration";
        Ok(self.database.query_row(columns, [], |row| {
            Ok(About {
                token: row.get(0)?,
                specification: row.get(1)?,
                files: serde_json::from_str(&row.get::<_, String>(2)?).unwrap_or_default(),
                spent_ms: row.get::<_, i64>(3)?.max(0) as u64,
                end: row.get(4)?,
                needs_restore: row.get(5)?,
            })
        })?)
    }

    /// Takes up the work again: trials that were running are planned again, and the exploration has not ended.
    ///
    /// # Errors
    /// Where the store cannot be written.
    pub fn take_up(&mut self, specification: &str) -> Result<u64> {
        let transaction = self.database.transaction()?;
        transaction.execute(
            "UPDATE exploration SET end = NULL, specification = ?",
            [specification],
        )?;
        // What was found holds for the trials so far.
        transaction.execute_batch("DELETE FROM conclusions; DELETE FROM reasons")?;
        transaction.execute_batch(REASONS_ABOUT)?;
        let again = transaction.execute(
            "UPDATE trials SET state = 'planned' WHERE state = 'running'",
            [],
        )?;
        transaction.commit()?;
        Ok(again as u64)
    }

    /// Plans trials, in this order: all of them, or none.
    ///
    /// # Errors
    /// Where the store cannot be written.
    pub fn plan(&mut self, batch: u32, trials: &[(u32, Configuration)]) -> Result<()> {
        let transaction = self.database.transaction()?;
        for (round, configuration) in trials {
            transaction.execute(
                "INSERT INTO trials (batch, round, configuration, state) VALUES (?, ?, ?, 'planned')",
                params![batch, round, configuration.key()],
            )?;
        }
        Ok(transaction.commit()?)
    }

    /// The next trial to run; none where all have ended.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn next(&self) -> Result<Option<Planned>> {
        let next = "SELECT id, batch, configuration FROM trials WHERE state = 'planned' ORDER BY id LIMIT 1";
        let row = self.database.query_row(next, [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?))
        });
        let Some((id, batch, key)) = row.optional()? else {
            return Ok(None);
        };
        Ok(Some(Planned {
            id,
            batch,
            configuration: configuration(&key)?,
        }))
    }

    /// The trial begins. From here on there is something to restore.
    ///
    /// # Errors
    /// Where the store cannot be written.
    pub fn begin(&mut self, trial: i64) -> Result<()> {
        let transaction = self.database.transaction()?;
        transaction.execute(
            "UPDATE trials SET state = 'running', attempts = attempts + 1, began_ns = ? WHERE id = ?",
            params![now_ns(), trial],
        )?;
        transaction.execute("UPDATE exploration SET needs_restore = 1", [])?;
        Ok(transaction.commit()?)
    }

    /// The trial has ended so, with these measures.
    ///
    /// # Errors
    /// Where the store cannot be written; nothing of the trial counts then.
    pub fn end(
        &mut self,
        trial: i64,
        outcome: &Outcome,
        measures: &BTreeMap<String, f64>,
        notes: &str,
        spent_ms: u64,
    ) -> Result<()> {
        let words = match outcome {
            Outcome::Failed { what, .. } => what,
            _ => notes,
        };
        let transaction = self.database.transaction()?;
        let updated = transaction.execute(
            "UPDATE trials SET state = 'ended', ended_ns = ?, outcome = ?, words = ? WHERE id = ? AND state = 'running'",
            params![now_ns(), outcome.name(), words, trial],
        )?;
        if updated != 1 {
            return Err(StoreError::Damaged(format!(
                "trial {trial} was not running"
            )));
        }
        for (metric, value) in measures {
            transaction.execute(
                "INSERT INTO measures VALUES (?, ?, ?)",
                params![trial, metric, value],
            )?;
        }
        transaction.execute(
            "UPDATE exploration SET spent_ms = spent_ms + ?",
            [spent_ms as i64],
        )?;
        Ok(transaction.commit()?)
    }

    /// The trial was cut short by the end of the explorer and is to be run again.
    ///
    /// # Errors
    /// Where the store cannot be written.
    pub fn put_back(&mut self, trial: i64) -> Result<()> {
        self.database.execute(
            "UPDATE trials SET state = 'planned' WHERE id = ? AND state = 'running'",
            [trial],
        )?;
        Ok(())
    }

    /// From here on there is something to restore.
    ///
    /// # Errors
    /// Where the store cannot be written.
    pub fn needs_restore(&mut self) -> Result<()> {
        self.database
            .execute("UPDATE exploration SET needs_restore = 1", [])?;
        Ok(())
    }

    /// What `restore` is to undo has been undone.
    ///
    /// # Errors
    /// Where the store cannot be written.
    pub fn restored(&mut self) -> Result<()> {
        self.database
            .execute("UPDATE exploration SET needs_restore = 0", [])?;
        Ok(())
    }

    /// The exploration has ended: why, and what the policy concludes.
    ///
    /// # Errors
    /// Where the store cannot be written.
    pub fn finish(&mut self, end: &str, conclusions: &[String]) -> Result<()> {
        let transaction = self.database.transaction()?;
        transaction.execute("UPDATE exploration SET end = ?", [end])?;
        transaction.execute("DELETE FROM conclusions", [])?;
        for words in conclusions {
            transaction.execute("INSERT INTO conclusions (words) VALUES (?)", [words])?;
        }
        Ok(transaction.commit()?)
    }

    /// What the policy concludes.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn conclusions(&self) -> Result<Vec<String>> {
        self.texts("SELECT words FROM conclusions ORDER BY number")
    }

    /// Why configurations differ, as was found from recordings.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn reasons(&self) -> Result<Vec<Reason>> {
        let mut about: BTreeMap<i64, Vec<Configuration>> = BTreeMap::new();
        let is_told = "SELECT count(*) FROM sqlite_master WHERE name = 'reasons_about'";
        let is_told: i64 = self.database.query_row(is_told, [], |row| row.get(0))?;
        if is_told > 0 {
            let all = "SELECT reason, configuration FROM reasons_about ORDER BY rowid";
            let mut statement = self.database.prepare(all)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let of = about.entry(row.get(0)?).or_default();
                of.push(configuration(&row.get::<_, String>(1)?)?);
            }
        }
        let mut statement =
            (self.database).prepare("SELECT number, words FROM reasons ORDER BY number")?;
        let rows = statement.query_map([], |row| {
            Ok(Reason {
                about: about.remove(&row.get(0)?).unwrap_or_default(),
                words: row.get(1)?,
            })
        })?;
        Ok(rows.collect::<std::result::Result<_, _>>()?)
    }

    /// Replaces the reasons.
    ///
    /// # Errors
    /// Where the store cannot be written.
    pub fn set_reasons(&mut self, reasons: &[Reason]) -> Result<()> {
        let transaction = self.database.transaction()?;
        transaction.execute_batch(REASONS_ABOUT)?;
        transaction.execute("DELETE FROM reasons", [])?;
        for (reason, number) in reasons.iter().zip(1_i64..) {
            let row = params![number, reason.words];
            transaction.execute("INSERT INTO reasons (number, words) VALUES (?, ?)", row)?;
            for about in &reason.about {
                let row = params![number, about.key()];
                transaction.execute("INSERT INTO reasons_about VALUES (?, ?)", row)?;
            }
        }
        Ok(transaction.commit()?)
    }

    /// As a store of an older version is.
    #[cfg(test)]
    pub(crate) fn forget_what_reasons_are_about(&self) {
        let dropped = self.database.execute_batch("DROP TABLE reasons_about");
        dropped.expect("written");
    }

    fn texts(&self, query: &str) -> Result<Vec<String>> {
        let mut statement = self.database.prepare(query)?;
        let rows = statement.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<std::result::Result<_, _>>()?)
    }

    /// How many trials have been planned, ended ones among them, and how many have ended.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn counts(&self) -> Result<(u64, u64)> {
        let counts = "SELECT count(*), coalesce(sum(state = 'ended'), 0) FROM trials";
        let row = self.database.query_row(counts, [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        })?;
        Ok((row.0 as u64, row.1 as u64))
    }

    /// Reads several things as they were at one moment, whoever writes meanwhile.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn at_one_moment<T>(&self, read: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        let moment = self.database.unchecked_transaction()?;
        let read = read(self)?;
        moment.commit()?;
        Ok(read)
    }

    /// When it was made, in nanoseconds since the epoch.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn began_ns(&self) -> Result<i64> {
        let began = "SELECT began_ns FROM exploration";
        Ok(self.database.query_row(began, [], |row| row.get(0))?)
    }

    /// What runs now, or was cut short when the explorer ended.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn running(&self) -> Result<Option<Configuration>> {
        let running = "SELECT configuration FROM trials WHERE state = 'running'";
        let key = self.database.query_row(running, [], |row| row.get(0));
        let key: Option<String> = key.optional()?;
        key.map(|key| configuration(&key)).transpose()
    }

    /// From when to when each trial that has ended ran, in nanoseconds since the epoch.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn times(&self) -> Result<BTreeMap<i64, (i64, i64)>> {
        let times = "SELECT id, began_ns, ended_ns FROM trials WHERE state = 'ended' \
                     AND began_ns IS NOT NULL AND ended_ns IS NOT NULL";
        let mut statement = self.database.prepare(times)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
        Ok(rows.collect::<std::result::Result<_, _>>()?)
    }

    /// The trials that have ended, in the order in which they ran.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn trials(&self) -> Result<Vec<Trial>> {
        let mut measures: BTreeMap<i64, BTreeMap<String, f64>> = BTreeMap::new();
        let mut statement = self
            .database
            .prepare("SELECT trial, metric, value FROM measures")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            measures
                .entry(row.get(0)?)
                .or_default()
                .insert(row.get(1)?, row.get(2)?);
        }
        let ended = "SELECT id, batch, configuration, outcome, words FROM trials WHERE state = 'ended' ORDER BY id";
        let mut statement = self.database.prepare(ended)?;
        let mut rows = statement.query([])?;
        let mut trials = Vec::new();
        while let Some(row) = rows.next()? {
            let id = row.get(0)?;
            let (outcome, words) = (row.get::<_, String>(3)?, row.get::<_, String>(4)?);
            let outcome = Outcome::from_name(&outcome, words.clone())
                .ok_or_else(|| StoreError::Damaged(format!("trial {id} ended as {outcome:?}")))?;
            let is_failed = matches!(outcome, Outcome::Failed { .. });
            trials.push(Trial {
                id,
                batch: row.get(1)?,
                configuration: configuration(&row.get::<_, String>(2)?)?,
                outcome,
                notes: if is_failed { String::new() } else { words },
                measures: measures.remove(&id).unwrap_or_default(),
            });
        }
        Ok(trials)
    }
}

fn configuration(key: &str) -> Result<Configuration> {
    Configuration::from_key(key)
        .ok_or_else(|| StoreError::Damaged(format!("{key:?} is no configuration")))
}

fn now_ns() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    since.as_nanos() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::Failure;

    fn one(name: &str) -> Configuration {
        Configuration::from_key(&format!("{{\"x\":\"{name}\"}}")).expect("JSON")
    }

    #[test]
    fn what_was_running_is_run_again_and_what_has_ended_is_not() -> Result<()> {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = Store::create(folder.path(), "token", "text", &[])?;
        store.plan(0, &[(0, one("a")), (0, one("b")), (0, one("c"))])?;
        let first = store.next()?.expect("a trial");
        store.begin(first.id)?;
        store.end(
            first.id,
            &Outcome::Good,
            &[("time".to_owned(), 1.5)].into(),
            "something was lost",
            20,
        )?;
        let second = store.next()?.expect("a trial");
        store.begin(second.id)?;
        drop(store);

        let mut store = Store::open(folder.path())?;
        assert!(store.about()?.needs_restore);
        assert_eq!(store.take_up("text")?, 1);
        assert_eq!(store.next()?, Some(second.clone()));
        store.begin(second.id)?;
        let failed = Outcome::Failed {
            kind: Failure::TimedOut,
            what: "after 1 s".to_owned(),
        };
        store.end(second.id, &failed, &BTreeMap::new(), "", 5)?;
        assert!(
            store
                .end(second.id, &failed, &BTreeMap::new(), "", 5)
                .is_err(),
            "it counted twice"
        );
        let trials = store.trials()?;
        let outcomes: Vec<&Outcome> = trials.iter().map(|trial| &trial.outcome).collect();
        assert_eq!(outcomes, [&Outcome::Good, &failed]);
        assert_eq!(trials[0].measures["time"], 1.5);
        let notes = trials.iter().map(|trial| trial.notes.as_str());
        assert!(notes.eq(["something was lost", ""]));
        assert_eq!(store.about()?.spent_ms, 25);
        assert_eq!(store.counts()?, (3, 2));
        Ok(())
    }

    #[test]
    fn a_store_of_another_version_or_of_none_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(Store::open(folder.path()).is_err());
        let store = Store::create(folder.path(), "token", "text", &[]).expect("a store");
        store
            .database
            .execute("UPDATE exploration SET format = 9", [])
            .expect("written");
        drop(store);
        assert!(matches!(
            Store::open(folder.path()),
            Err(StoreError::Format(9))
        ));
        std::fs::write(folder.path().join(FILE_NAME), "x".repeat(5000)).expect("written");
        assert!(matches!(
            Store::open(folder.path()),
            Err(StoreError::Damaged(_))
        ));
    }
}
