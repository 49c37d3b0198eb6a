//! The system calls in which threads wait for locks, and what is said of such waits: for the walk, and for who reads
//! what it found.

/// Their names, and for what threads wait in each.
pub const LOCK_CALLS: [(&str, &str); 5] = [
    ("futex", "a lock, a condition or the end of a thread"),
    ("flock", "a lock on a file"),
    ("fcntl", "a lock on a file"),
    ("semop", "a semaphore"),
    ("semtimedop", "a semaphore"),
];

/// What is said of a wait for a lock that was given up while a signal was handled: by whom is not known.
pub const CUT_SHORT: &str = "interrupted by a signal";
