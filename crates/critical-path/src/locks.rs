//! The system calls in which threads wait for locks: for the walk, and for who reads what it found.

/// Their names, and for what threads wait in each.
pub const LOCK_CALLS: [(&str, &str); 5] = [
    ("futex", "a lock, a condition or the end of a thread"),
    ("flock", "a lock on a file"),
    ("fcntl", "a lock on a file"),
    ("semop", "a semaphore"),
    ("semtimedop", "a semaphore"),
];
