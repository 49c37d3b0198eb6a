//! Load beside the system, as of other programs on its machine (Go and Colmenares 2016, §3.1): threads that keep processors
//! busy, threads that write to the disk, memory that is in use. It is nobody's in a trial's numbers.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::filling::Filled;
use crate::spec::Load;
use crate::template::Template;

/// What is written before the disk is asked to have it.
const BLOCK_BYTES: usize = 1 << 20;
/// A file of the load is written again from its start when it is so large.
const FILE_BLOCKS: usize = 64;
const PAGE_BYTES: usize = 4096;
/// How often memory is used, so that none of it leaves for a swap device.
const TOUCH: Duration = Duration::from_millis(100);

/// Load that goes on until it is ended or dropped.
pub(super) struct Running {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

impl Running {
    /// Begins what a trial is to have beside it; `folder` is on the disk that is written to.
    ///
    /// # Errors
    /// In words.
    pub(super) fn begin(load: &Load, filled: &Filled<'_>, folder: &Path) -> Result<Self, String> {
        let number = |what: &str, template: &Option<Template>| -> Result<u64, String> {
            let Some(template) = template else {
                return Ok(0);
            };
            let text = filled.text(template)?;
            let number = text.parse();
            number.map_err(|_| format!("`{what}` of [load] is `{text}`, which is no whole number"))
        };
        let threads = |what, template| match number(what, template)? {
            many if many > Load::MOST_THREADS => Err(format!(
                "`{what}` of [load] is {many}; there may be {} threads",
                Load::MOST_THREADS
            )),
            few => Ok(few),
        };
        let (cpu, disk) = (threads("cpu", &load.cpu)?, threads("disk", &load.disk)?);
        let memory = memory(number("memory_mib", &load.memory_mib)?)?;
        let mut running = Self {
            is_over: Arc::default(),
            threads: Vec::new(),
        };
        for _ in 0..cpu {
            running.spawn(|is_over| {
                compute(is_over);
                Ok(())
            })?;
        }
        for number in 0..disk {
            let path = folder.join(format!("load-{number}"));
            running.spawn(move |is_over| write(is_over, &path))?;
        }
        if !memory.is_empty() {
            running.spawn(move |is_over| {
                keep_in_use(is_over, memory);
                Ok(())
            })?;
        }
        Ok(running)
    }

    fn spawn(
        &mut self,
        work: impl FnOnce(&AtomicBool) -> io::Result<()> + Send + 'static,
    ) -> Result<(), String> {
        let is_over = Arc::clone(&self.is_over);
        let thread = std::thread::Builder::new().name("load".to_owned());
        let thread = thread.spawn(move || work(&is_over));
        self.threads.push(
            thread.map_err(|cause| format!("a thread of [load] cannot be started: {cause}"))?,
        );
        Ok(())
    }

    /// Ends it.
    ///
    /// # Errors
    /// In words, where a part of it had ended before.
    pub(super) fn end(mut self) -> Result<(), String> {
        self.is_over.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            if let Ok(Err(cause)) = thread.join() {
                return Err(format!(
                    "the load on the disk ended before its time: {cause}"
                ));
            }
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn compute(is_over: &AtomicBool) {
    let mut number = 0_u64;
    while !is_over.load(Ordering::Acquire) {
        for _ in 0..10_000 {
            number = black_box(
                number
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1),
            );
        }
    }
}

fn write(is_over: &AtomicBool, path: &Path) -> io::Result<()> {
    let mut file = File::create(path)?;
    // Without a name it goes with its descriptor, also when the explorer is killed.
    fs::remove_file(path)?;
    let block = vec![0x5a; BLOCK_BYTES];
    while !is_over.load(Ordering::Acquire) {
        file.seek(SeekFrom::Start(0))?;
        for _ in 0..FILE_BLOCKS {
            if is_over.load(Ordering::Acquire) {
                break;
            }
            file.write_all(&block)?;
            file.sync_data()?;
        }
    }
    Ok(())
}

/// Memory of which every page has been written.
fn memory(mib: u64) -> Result<Vec<u8>, String> {
    let failed = || format!("there are no {mib} MiB of memory for [load]");
    let bytes = mib.checked_mul(1 << 20).ok_or_else(failed)?;
    // More than there is would have somebody killed.
    let available = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    if available.is_some_and(|kib| bytes / 1024 > kib) {
        return Err(failed());
    }
    let bytes = usize::try_from(bytes).map_err(|_| failed())?;
    let mut memory = Vec::new();
    memory.try_reserve_exact(bytes).map_err(|_| failed())?;
    memory.resize(bytes, 0x5a);
    Ok(memory)
}

fn keep_in_use(is_over: &AtomicBool, mut memory: Vec<u8>) {
    while !is_over.load(Ordering::Acquire) {
        for page in memory.chunks_mut(PAGE_BYTES) {
            page[0] = black_box(page[0].wrapping_add(1));
        }
        std::thread::sleep(TOUCH);
    }
}
