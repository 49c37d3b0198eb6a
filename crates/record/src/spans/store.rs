//! Where received spans go: files that are rotated, or the last ones in a bounded memory.
//!
//! One thread owns files and memory. The queue before it is bounded in bytes: what does not fit is
//! refused at once, so a slow disk costs spans, never memory, and never holds up a sender.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::counts::Counts;
use crate::manifest::Mode;

/// A file that has grown so large is closed, and the next one begun.
const ROTATE_AT_BYTES: u64 = 64 << 20;
/// What a flight recorder keeps in memory.
const MEMORY_BYTES: usize = 64 << 20;
/// What may wait for the disk.
const QUEUE_BYTES: usize = 32 << 20;
/// Beside its bytes, a waiting or remembered batch costs about this much.
const BATCH_OVERHEAD_BYTES: usize = 128;
/// How long a snapshot takes in spans that arrive after it; batches leave a sender every 5 s.
const LATE: Duration = Duration::from_secs(10);
/// How long a snapshot or the end waits for the queue before it.
const PATIENCE: Duration = Duration::from_secs(10);

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    /// An `ExportTraceServiceRequest`.
    pub(crate) message: Bytes,
    /// Its number of spans.
    pub(crate) spans: u64,
    /// From the begin of its first span to the end of its last.
    pub(crate) time: TimeSpan,
}

/// A stretch of time, both ends included, in nanoseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeSpan {
    pub(crate) begin_ns: u64,
    pub(crate) end_ns: u64,
}

impl TimeSpan {
    fn overlaps(self, other: Self) -> bool {
        self.begin_ns <= other.end_ns && other.begin_ns <= self.end_ns
    }
}

enum Order {
    Keep(Batch),
    /// Write what is remembered of this time to this recording's folder, and go on.
    Snapshot(PathBuf, TimeSpan, mpsc::Sender<()>),
    /// The same, once and for all.
    End(PathBuf, TimeSpan),
}

/// The way to the thread that keeps batches.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    orders: mpsc::Sender<Order>,
    queued_bytes: Arc<AtomicUsize>,
}

impl Store {
    /// Starts the thread; `folder` is the recording's.
    pub(crate) fn start(
        folder: &Path,
        mode: Mode,
        counts: Arc<Counts>,
    ) -> io::Result<(Self, JoinHandle<()>)> {
        let (orders, received) = mpsc::channel();
        let queued_bytes = Arc::new(AtomicUsize::new(0));
        let mut keeper = Keeper {
            kept: match mode {
                Mode::Standard => Kept::OnDisk(SpanFiles::below(folder)),
                Mode::Snapshot => Kept::InMemory(Memory::default()),
            },
            counts,
        };
        let queued = Arc::clone(&queued_bytes);
        let thread = std::thread::Builder::new()
            .name("span-store".to_owned())
            .spawn(move || {
                while let Ok(order) = received.recv() {
                    match order {
                        Order::Keep(batch) => {
                            queued.fetch_sub(size(&batch), Ordering::Relaxed);
                            keeper.keep(batch);
                        }
                        Order::Snapshot(folder, time, written) => {
                            keeper.write_snapshot(&folder, time);
                            // Whoever asked may have lost patience.
                            let _ = written.send(());
                        }
                        Order::End(folder, time) => return keeper.write_snapshot(&folder, time),
                    }
                }
            })?;
        let store = Self {
            orders,
            queued_bytes,
        };
        Ok((store, thread))
    }

    /// One whose disk never takes anything.
    #[cfg(test)]
    pub(crate) fn stuck() -> (Self, impl Sized) {
        let (orders, unread) = mpsc::channel();
        let store = Self {
            orders,
            queued_bytes: Arc::default(),
        };
        (store, unread)
    }

    /// Hands a batch over; false when there is no room for it.
    pub(crate) fn keep(&self, batch: Batch) -> bool {
        let bytes = size(&batch);
        let before = self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        let has_room = before + bytes <= QUEUE_BYTES;
        if has_room && self.orders.send(Order::Keep(batch)).is_ok() {
            return true;
        }
        self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
        false
    }

    /// Writes what is remembered of `time` below `folder`, now and while late ones arrive.
    pub(crate) fn write_snapshot(&self, folder: &Path, time: TimeSpan) {
        let (written, is_written) = mpsc::channel();
        let order = Order::Snapshot(folder.to_owned(), time, written);
        if self.orders.send(order).is_ok() {
            // A disk this slow loses spans, which is counted where they are lost.
            let _ = is_written.recv_timeout(PATIENCE);
        }
    }

    /// Ends the thread after it has written what is remembered of `time` below `folder`.
    pub(crate) fn end(&self, folder: &Path, time: TimeSpan) {
        let _ = self.orders.send(Order::End(folder.to_owned(), time));
    }
}

fn size(batch: &Batch) -> usize {
    batch.message.len() + BATCH_OVERHEAD_BYTES
}

struct Keeper {
    kept: Kept,
    counts: Arc<Counts>,
}

enum Kept {
    OnDisk(SpanFiles),
    InMemory(Memory),
}

#[derive(Default)]
struct Memory {
    batches: VecDeque<Batch>,
    bytes: usize,
    /// Snapshots that still take in what arrives late.
    open: Vec<(SpanFiles, TimeSpan, Instant)>,
}

impl Keeper {
    fn keep(&mut self, batch: Batch) {
        let spans = batch.spans;
        let result = match &mut self.kept {
            Kept::OnDisk(files) => files.append(&batch.message),
            Kept::InMemory(memory) => memory.keep(batch),
        };
        match result {
            Ok(()) => {
                self.counts.requests.add(1);
                self.counts.spans.add(spans);
            }
            Err(_) => self.counts.lost_spans.add(spans),
        }
    }

    fn write_snapshot(&mut self, folder: &Path, time: TimeSpan) {
        let Kept::InMemory(memory) = &mut self.kept else {
            return;
        };
        let mut files = SpanFiles::below(folder);
        for batch in memory.batches.iter().filter(|one| one.time.overlaps(time)) {
            if files.append(&batch.message).is_err() {
                self.counts.lost_spans.add(batch.spans);
            }
        }
        memory.open.push((files, time, Instant::now() + LATE));
    }
}

impl Memory {
    fn keep(&mut self, batch: Batch) -> io::Result<()> {
        let now = Instant::now();
        self.open
            .retain(|(files, _, until)| now < *until && files.have_a_place());
        let mut result = Ok(());
        for (files, time, _) in &mut self.open {
            if batch.time.overlaps(*time) {
                result = result.and(files.append(&batch.message));
            }
        }
        self.bytes += size(&batch);
        self.batches.push_back(batch);
        while self.bytes > MEMORY_BYTES {
            let Some(oldest) = self.batches.pop_front() else {
                break;
            };
            self.bytes -= size(&oldest);
        }
        result
    }
}

/// `spans/otlp-N.pb`, made when the first message comes.
struct SpanFiles {
    folder: PathBuf,
    number: u32,
    current: Option<(File, u64)>,
}

impl SpanFiles {
    fn below(recording: &Path) -> Self {
        Self {
            folder: recording.join("spans"),
            number: 0,
            current: None,
        }
    }

    /// Whether the recording is there: a snapshot that failed is removed.
    fn have_a_place(&self) -> bool {
        self.folder.parent().is_some_and(Path::is_dir)
    }

    /// Appends a message. A failed one leaves the file as it was.
    fn append(&mut self, message: &[u8]) -> io::Result<()> {
        let length = u32::try_from(message.len()).map_err(io::Error::other)?;
        let (file, written) = match &mut self.current {
            Some((file, written)) if *written < ROTATE_AT_BYTES => (file, written),
            _ => {
                let (file, written) = self.next_file()?;
                let current = self.current.insert((file, written));
                (&mut current.0, &mut current.1)
            }
        };
        let appended = file
            .write_all(&length.to_be_bytes())
            .and_then(|()| file.write_all(message));
        match appended {
            Ok(()) => *written += 4 + u64::from(length),
            // Where even this fails, a reader stops at the broken message.
            Err(_) => drop(file.set_len(*written)),
        }
        appended
    }

    fn next_file(&mut self) -> io::Result<(File, u64)> {
        fs::create_dir_all(&self.folder)?;
        let path = self.folder.join(format!("otlp-{}.pb", self.number + 1));
        let file = File::options().append(true).create_new(true).open(path)?;
        self.number += 1;
        Ok((file, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: TimeSpan = TimeSpan {
        begin_ns: 0,
        end_ns: u64::MAX,
    };

    fn batch(message: &'static [u8], begin_ns: u64, end_ns: u64) -> Batch {
        Batch {
            message: Bytes::from_static(message),
            spans: 1,
            time: TimeSpan { begin_ns, end_ns },
        }
    }

    fn messages(folder: &Path) -> Vec<u8> {
        fs::read(folder.join("spans/otlp-1.pb")).unwrap_or_default()
    }

    #[test]
    fn messages_are_written_with_their_sizes_before_them() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let counts = Arc::new(Counts::default());
        let started = Store::start(folder.path(), Mode::Standard, Arc::clone(&counts));
        let (store, thread) = started.expect("a thread");
        assert!(store.keep(batch(b"first", 1, 2)));
        assert!(store.keep(batch(b"", 1, 2)));
        store.end(folder.path(), ALL);
        thread.join().expect("it ends");
        assert_eq!(messages(folder.path()), b"\0\0\0\x05first\0\0\0\0");
        assert_eq!((counts.requests.get(), counts.spans.get()), (2, 2));
    }

    #[test]
    fn a_snapshot_has_what_overlaps_it_also_what_comes_late() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (one, two) = (folder.path().join("1"), folder.path().join("2"));
        let counts = Arc::new(Counts::default());
        let started = Store::start(folder.path(), Mode::Snapshot, counts);
        let (store, thread) = started.expect("a thread");
        let time = |begin_ns, end_ns| TimeSpan { begin_ns, end_ns };
        store.keep(batch(b"before", 10, 19));
        store.keep(batch(b"across", 15, 25));
        assert_eq!(messages(folder.path()), b"", "nothing until asked for");
        store.write_snapshot(&one, time(20, 30));
        store.keep(batch(b"late", 22, 23));
        store.keep(batch(b"next", 31, 40));
        store.end(&two, time(30, 50));
        thread.join().expect("it ends");
        assert_eq!(messages(&one), b"\0\0\0\x06across\0\0\0\x04late");
        assert_eq!(messages(&two), b"\0\0\0\x04next");
    }

    #[test]
    fn files_are_rotated_and_a_full_disk_leaves_whole_messages() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut files = SpanFiles::below(folder.path());
        let message = vec![7; 8 << 20];
        for _ in 0..9 {
            files.append(&message).expect("written");
        }
        let size = |number: u32| {
            let path = folder.path().join(format!("spans/otlp-{number}.pb"));
            fs::metadata(path).map(|file| file.len()).ok()
        };
        let each = 4 + (8 << 20);
        assert_eq!(
            (size(1), size(2), size(3)),
            (Some(8 * each), Some(each), None)
        );
        // A device that is always full.
        let full = File::options()
            .write(true)
            .open("/dev/full")
            .expect("/dev/full");
        files.current = Some((full, 0));
        assert!(files.append(b"lost").is_err());
    }

    #[test]
    fn the_queue_takes_no_more_than_fits() {
        let (store, _unread) = Store::stuck();
        let message = Bytes::from(vec![0; 8 << 20]);
        let kept = (0..10).filter(|_| {
            store.keep(Batch {
                message: message.clone(),
                spans: 1,
                time: ALL,
            })
        });
        assert_eq!(kept.count(), 3, "32 MiB with what each costs beside");
    }
}
