//! Which spans are about what a report is about: those of its process, at its time. A client's that goes to an endpoint of
//! the report, and whatever names a method of the program, get a mark, by which they are found again in paths of services.
//!
//! What is asked of each span is little: spans may be many millions, and several threads ask.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use slowpath_read_spans::{Span, SpanKind, ToldProcess, command_line};
use slowpath_read_transfers::Transfers;

use crate::endpoint::Endpoint;

/// What to look for in spans; knows what was seen.
#[derive(Debug)]
pub struct Calls {
    programs: Vec<Program>,
    /// For each report, its program.
    of_reports: Vec<usize>,
    /// Methods on call paths; others that spans name are [`OTHER_METHOD`].
    methods: HashMap<String, usize>,
    known: Mutex<Known>,
}

/// Reports of one number and command: copies of a service in several containers, or a process after the other.
#[derive(Debug)]
struct Program {
    pid: u32,
    command: String,
    /// When these reports were made, in nanoseconds since the epoch.
    times: Vec<(i64, i64)>,
    endpoints: Vec<Endpoint>,
    positions: HashMap<Endpoint, usize>,
    was_seen: AtomicBool,
    /// Of each endpoint, whether a call went there.
    called: Vec<AtomicBool>,
}

/// What is found out while spans go by.
#[derive(Debug, Default)]
struct Known {
    /// The programs of a process as spans tell of it.
    programs: HashMap<(u32, String), Vec<usize>>,
    /// Each mark's number less one is its position here.
    marks: Vec<Vec<Fact>>,
    numbers: HashMap<Vec<Fact>, u32>,
}

/// What a mark says of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fact {
    /// It calls this endpoint of this program.
    Calls(usize, usize),
    /// It stands for this method.
    Method(usize),
}

const OTHER_METHOD: usize = usize::MAX;

/// More processes than spans of a healthy system tell of.
const MOST_PROCESSES: usize = 10_000;

impl Calls {
    /// Those of these reports.
    pub fn of(reports: &[Transfers]) -> Self {
        let mut programs: Vec<Program> = Vec::new();
        let mut of_reports = Vec::new();
        let mut positions: HashMap<(u32, &str), usize> = HashMap::new();
        let mut methods = HashMap::new();
        for report in reports {
            let head = &report.head;
            let position = *(positions.entry((head.pid, &head.program))).or_insert_with(|| {
                programs.push(Program::new(head.pid, &head.program));
                programs.len() - 1
            });
            of_reports.push(position);
            let program = &mut programs[position];
            program.times.push((head.begin_ns, head.end_ns));
            for context in &report.contexts {
                program.add(Endpoint::of(context));
                for frame in &context.call_path {
                    let next = methods.len();
                    (methods.entry(format!("{}.{}", frame.class, frame.method))).or_insert(next);
                }
            }
        }
        Self {
            programs,
            of_reports,
            methods,
            known: Mutex::default(),
        }
    }

    /// The number of the mark that a span gets; 0: none.
    pub fn mark(&self, span: &Span) -> u32 {
        let Some(process) = span.told_process() else {
            return 0;
        };
        if self
            .programs
            .iter()
            .all(|program| program.pid != process.pid)
        {
            return 0;
        }
        let time = (span.begin.ns(), span.end.ns());
        let call = (span.kind == SpanKind::Client).then(|| span.told_call());
        let mut facts = Vec::new();
        for number in self.programs_of(process) {
            let program = &self.programs[number];
            if !program.ran_at(time) {
                continue;
            }
            program.was_seen.store(true, Ordering::Relaxed);
            let endpoints = program.endpoints.iter().zip(&program.called);
            for (position, (endpoint, called)) in endpoints.enumerate() {
                if call.as_ref().is_some_and(|call| endpoint.is_of(call)) {
                    called.store(true, Ordering::Relaxed);
                    facts.push(Fact::Calls(number, position));
                }
            }
        }
        if let Some(method) = span.told_function() {
            let known = self.methods.get(&*method);
            facts.push(Fact::Method(known.copied().unwrap_or(OTHER_METHOD)));
        }
        self.number_of(facts)
    }

    fn programs_of(&self, process: ToldProcess<'_>) -> Vec<usize> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (process.pid, process.command.unwrap_or_default().to_owned());
        if let Some(programs) = known.programs.get(&key) {
            return programs.clone();
        }
        let command = process.command.map(command_line);
        let is_it = |program: &&(usize, &Program)| {
            let (_, program) = *program;
            // A report tells the main class or jar, a span the whole command: what stands behind are arguments, which
            // reports leave out.
            program.pid == process.pid
                && command.as_ref().is_none_or(|command| {
                    has_words(command, &program.command) || has_argument_file(command)
                })
        };
        let programs = self.programs.iter().enumerate();
        let programs: Vec<usize> = programs
            .filter(|program| is_it(&program))
            .map(|(number, _)| number)
            .collect();
        if known.programs.len() >= MOST_PROCESSES {
            known.programs.clear();
        }
        known.programs.insert(key, programs.clone());
        programs
    }

    fn number_of(&self, facts: Vec<Fact>) -> u32 {
        if facts.is_empty() {
            return 0;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&number) = known.numbers.get(&facts) {
            return number;
        }
        known.marks.push(facts.clone());
        let number = u32::try_from(known.marks.len()).unwrap_or(0);
        known.numbers.insert(facts, number);
        number
    }

    /// What the mark of this number says.
    pub(crate) fn facts(&self, mark: u32) -> Vec<Fact> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let position = (mark as usize).checked_sub(1);
        let facts = position.and_then(|position| known.marks.get(position));
        facts.cloned().unwrap_or_default()
    }

    /// The program of a report.
    pub(crate) fn program(&self, report: usize) -> usize {
        self.of_reports[report]
    }

    /// Whether there is any span of a program.
    pub(crate) fn was_seen(&self, program: usize) -> bool {
        self.programs[program].was_seen.load(Ordering::Relaxed)
    }

    /// The position of an endpoint among those of its program, and whether a call went there.
    pub(crate) fn endpoint(&self, program: usize, endpoint: &Endpoint) -> Option<(usize, bool)> {
        let program = &self.programs[program];
        let position = *program.positions.get(endpoint)?;
        Some((position, program.called[position].load(Ordering::Relaxed)))
    }

    /// Whether a method that spans name is this one.
    pub(crate) fn is_method(&self, number: usize, name: &str) -> bool {
        self.methods.get(name) == Some(&number)
    }
}

impl Program {
    fn new(pid: u32, command: &str) -> Self {
        Self {
            pid,
            command: command.to_owned(),
            times: Vec::new(),
            endpoints: Vec::new(),
            positions: HashMap::new(),
            was_seen: AtomicBool::new(false),
            called: Vec::new(),
        }
    }

    fn add(&mut self, endpoint: Option<Endpoint>) {
        let Some(endpoint) = endpoint.filter(|endpoint| !self.positions.contains_key(endpoint))
        else {
            return;
        };
        self.positions
            .insert(endpoint.clone(), self.endpoints.len());
        self.endpoints.push(endpoint);
        self.called.push(AtomicBool::new(false));
    }

    fn ran_at(&self, (begin, end): (i64, i64)) -> bool {
        let times = self.times.iter();
        times
            .into_iter()
            .any(|&(from, to)| begin <= to && end >= from)
    }
}

/// Options of Java behind which their value stands as a word of its own.
const WITH_VALUE: [&str; 14] = [
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--enable-native-access",
    "--limit-modules",
    "--add-exports",
    "--add-opens",
    "--add-reads",
    "--patch-module",
    "--source",
];

/// Whether a command does not tell all, as Java takes options and the main class from a file (`java @FILE`): not what stands
/// behind the main class, as those are the program's arguments, nor one that holds an option's value alone.
fn has_argument_file(command: &str) -> bool {
    let words: Vec<&str> = command.split_ascii_whitespace().collect();
    // Folders of Java may have spaces in their names.
    let is_java = |word: &&str| *word == "java" || word.ends_with("/java");
    let java = words.iter().position(is_java).unwrap_or(0);
    let mut is_value = false;
    for word in words.into_iter().skip(java + 1) {
        if std::mem::take(&mut is_value) {
            continue;
        }
        if word.starts_with('@') && !word.starts_with("@@") {
            return true;
        }
        if !word.starts_with('-') {
            return false;
        }
        is_value = WITH_VALUE.contains(&word);
    }
    false
}

/// Whether `words` stand in `text`, as whole words; nothing does in any case.
fn has_words(text: &str, words: &str) -> bool {
    let is_whole = |(at, _): (usize, &str)| {
        let (before, behind) = (&text[..at], &text[at + words.len()..]);
        (before.is_empty() || before.ends_with(' '))
            && (behind.is_empty() || behind.starts_with(' '))
    };
    words.is_empty() || text.match_indices(words).any(is_whole)
}
