//! The wait and wake graph of threads, and its critical path.
