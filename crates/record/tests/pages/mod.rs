//! Whether the page files of a recording are what its manifest says, for the tests that record.
//!
//! Looks at the heads of pages only; their events are read-ftrace's.

use std::fs;
use std::path::Path;

use slowpath_model::Timestamp;
use slowpath_record::Manifest;

use super::files_below;

/// Every page has a sane commit size and begins no earlier than the one before; all lie within the
/// recording.
pub fn check_pages(kernel: &Path, manifest: &Manifest) {
    check_pages_since(manifest.begin_ns, kernel, manifest);
}

/// The same for a later snapshot: a page that was begun before it, and emptied then, keeps its time.
pub fn check_pages_since(begin: Timestamp, kernel: &Path, manifest: &Manifest) {
    let page_size = usize::try_from(manifest.kernel.page_size).expect("a page size");
    let offset = manifest.clocks[0].offset_to_epoch_ns;
    let begin = begin.ns() - offset;
    let end = manifest.end_ns.ns() - offset;
    let mut pages = 0;
    for path in files_below(kernel) {
        if path.extension().is_none_or(|extension| extension != "raw") {
            continue;
        }
        let bytes = fs::read(&path).expect("pages");
        assert_eq!(
            bytes.len() % page_size,
            0,
            "{} has whole pages",
            path.display()
        );
        let mut last = i64::MIN;
        for page in bytes.chunks(page_size) {
            let word = |at: usize| i64::from_le_bytes(page[at..at + 8].try_into().expect("8"));
            let (time, commit) = (word(0), word(8) & 0xf_ffff);
            assert!(time >= last, "{}: {time} after {last}", path.display());
            assert!(
                (begin..=end).contains(&time),
                "{time} outside {begin}..={end}"
            );
            assert!(commit as usize <= page_size - 16, "commit {commit}");
            last = time;
            pages += 1;
        }
    }
    assert!(pages > 0, "no pages in {}", kernel.display());
}
