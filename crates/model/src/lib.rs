//! The vocabulary of slowpath: time, typed ids, schemas, raw events, diagnostics. No I/O, no threads.
