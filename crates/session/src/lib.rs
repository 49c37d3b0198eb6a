//! Composition root: opens a recording, picks readers, runs analyses.
