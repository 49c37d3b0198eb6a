//! What io_uring does for threads: operations between their submission and their completion.
//!
//! Each of an operation's events may be told on another processor and in another thread; they are joined by the
//! addresses of ring and request, in the order of time. The latest submission is what a request is.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slowpath_concepts::UringRequest;
use slowpath_model::ProcessId;

use super::calls::Way;

/// The addresses of a ring and of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Request(u64, u64);

impl From<UringRequest> for Request {
    fn from(UringRequest { ring, request }: UringRequest) -> Self {
        Self(ring, request)
    }
}

/// An operation that moves bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Operation {
    pub(super) way: Way,
    /// The descriptor that it looked up latest; -1 where there was none.
    fd: i32,
    /// The same of the one that it writes to, where it reads from another one.
    other_fd: i32,
    is_of_fixed_file: bool,
}

impl Operation {
    /// By its number in `linux/io_uring.h`.
    pub(super) fn of(number: u8, is_of_fixed_file: bool) -> Option<Self> {
        let way = match number {
            // READV, READ_FIXED, RECVMSG, READ, RECV
            1 | 4 | 10 | 22 | 27 => Way::Read,
            // WRITEV, WRITE_FIXED, SENDMSG, WRITE, SEND
            2 | 5 | 9 | 23 | 26 => Way::Write,
            // SPLICE, TEE
            30 | 33 => Way::ReadAndWrite,
            _ => return None,
        };
        Some(Self {
            way,
            fd: -1,
            other_fd: -1,
            is_of_fixed_file,
        })
    }

    /// As those of a call: what is read, or the only one, and what is written besides.
    pub(super) fn descriptors(&self) -> (i32, i32) {
        (self.fd, self.other_fd)
    }

    /// What is written to is looked up first, unless it is fixed (`io_splice`).
    fn looks_up(&mut self, fd: i32) {
        let is_written =
            self.way == Way::ReadAndWrite && !self.is_of_fixed_file && self.other_fd < 0;
        match is_written {
            true => self.other_fd = fd,
            false => self.fd = fd,
        }
    }
}

/// Operations that have not completed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Operations {
    submitted: FxHashMap<Request, (ProcessId, Operation)>,
}

impl Operations {
    pub(super) fn submit(&mut self, request: Request, process: ProcessId, operation: Operation) {
        self.submitted.insert(request, (process, operation));
    }

    pub(super) fn forget(&mut self, request: Request) {
        self.submitted.remove(&request);
    }

    pub(super) fn looks_up(&mut self, request: Request, fd: i32) {
        if let Some((_, operation)) = self.submitted.get_mut(&request) {
            operation.looks_up(fd);
        }
    }

    /// What completed, if its submission is known.
    pub(super) fn complete(
        &mut self,
        request: Request,
        has_more: bool,
    ) -> Option<(ProcessId, Operation)> {
        match has_more {
            true => self.submitted.get(&request).copied(),
            false => self.submitted.remove(&request),
        }
    }
}

#[cfg(test)]
mod tests {
    use slowpath_model::{TimeRange, Timestamp};

    use crate::answer::every_way;
    use crate::io::tests::{check, drawn, told};
    use crate::io::{Known, pass};

    #[test]
    fn operations_count_for_who_submitted_them_wherever_they_complete() {
        check(
            "cpu0 1 0>7
             cpu0 2 >openat filename=/a
             cpu0 3 <openat ret=3
             cpu0 10 io_uring_submit_req ctx=1 req=16 opcode=22 flags=0
             cpu0 11 io_uring_file_get ctx=1 req=16 fd=3
             cpu0 12 io_uring_submit_req ctx=1 req=17 opcode=23 flags=0
             cpu0 13 io_uring_submit_req ctx=1 req=18 opcode=5 flags=1
             cpu0 14 io_uring_submit_req ctx=2 req=16 opcode=26 flags=0
             cpu0 20 7>9
             cpu1 20 0>8
             cpu1 21 io_uring_file_get ctx=1 req=17 fd=4
             cpu1 22 io_uring_complete ctx=1 req=16 res=100 cflags=0
             cpu1 23 io_uring_complete ctx=1 req=17 res=20 cflags=0
             cpu1 24 io_uring_complete ctx=1 req=18 res=3 cflags=0
             cpu0 25 io_uring_complete ctx=2 req=16 res=-11 cflags=0
             cpu0 30 9>0
             cpu1 30 8>0",
            "7:t7 100/1 23/2 | /a 100/1 0/0, unknown (pid 7, fd 4) 0/0 20/1, unknown (pid 7) 0/0 3/1",
        );
    }

    #[test]
    fn requests_are_used_again() {
        check(
            "cpu0 1 0>7
             cpu0 2 io_uring_complete ctx=1 req=16 res=1000 cflags=0
             cpu0 10 io_uring_submit_req ctx=1 req=16 opcode=22 flags=0
             cpu0 11 io_uring_file_get ctx=1 req=16 fd=3
             cpu0 12 io_uring_complete ctx=1 req=16 res=0 cflags=0
             cpu0 13 io_uring_complete ctx=1 req=16 res=500 cflags=0
             cpu0 20 io_uring_submit_req ctx=1 req=16 opcode=1 flags=0
             cpu0 30 io_uring_submit_req ctx=1 req=16 opcode=0 flags=0
             cpu0 31 io_uring_complete ctx=1 req=16 res=9 cflags=0
             cpu0 40 io_uring_submit_req ctx=1 req=16 opcode=22 flags=0
             cpu0 41 7>8
             cpu0 42 io_uring_submit_req ctx=1 req=16 opcode=2 flags=0
             cpu0 43 io_uring_file_get ctx=1 req=16 fd=5
             cpu0 44 8>7
             cpu0 45 io_uring_complete ctx=1 req=16 res=6 cflags=0
             cpu0 50 io_uring_submit_req ctx=1 req=16 opcode=27 flags=0
             cpu0 51 io_uring_file_get ctx=1 req=16 fd=6
             cpu0 52 io_uring_complete ctx=1 req=16 res=1 cflags=2
             cpu0 53 io_uring_complete ctx=1 req=16 res=2 cflags=0
             cpu0 54 io_uring_complete ctx=1 req=16 res=4 cflags=0
             cpu0 60 7>0",
            "8:t8 0/0 6/1, 7:t7 3/3 0/0 | unknown (pid 8, fd 5) 0/0 6/1, unknown (pid 7, fd 6) 3/2 0/0, unknown (pid 7, fd 3) 0/1 0/0",
        );
    }

    #[test]
    fn splices_read_one_file_and_write_another() {
        check(
            "cpu0 10 io_uring_submit_req ctx=1 req=16 opcode=30 flags=0 @tid=12 @pid=11
             cpu0 11 io_uring_file_get ctx=1 req=16 fd=3 @tid=12 @pid=11
             cpu1 12 io_uring_file_get ctx=1 req=16 fd=4 @tid=13 @pid=13
             cpu1 13 io_uring_complete ctx=1 req=16 res=8 cflags=0 @tid=13 @pid=13
             cpu0 20 io_uring_submit_req ctx=1 req=16 opcode=33 flags=1 @tid=12 @pid=11
             cpu1 22 io_uring_file_get ctx=1 req=16 fd=4 @tid=13 @pid=13
             cpu1 23 io_uring_complete ctx=1 req=16 res=2 cflags=0 @tid=13 @pid=13",
            "11: 10/2 10/2 | unknown (pid 11, fd 4) 10/2 0/0, unknown (pid 11, fd 3) 0/0 8/1, unknown (pid 11) 0/0 2/1",
        );
    }

    #[test]
    fn only_completions_in_the_window_count() {
        let operation = |submitted: i64, completed: i64, value: i32| {
            format!(
                "cpu0 {submitted} io_uring_submit_req ctx=1 req=16 opcode=22 flags=0 @common_pid=7\n\
                 cpu0 {completed} io_uring_complete ctx=1 req=16 res={value} cflags=0 @common_pid=9\n"
            )
        };
        let trace = drawn(&(operation(2, 5, 1) + &operation(8, 15, 10) + &operation(16, 20, 100)));
        let range = TimeRange::new(Timestamp::from_ns(10), Timestamp::from_ns(20));
        let known = Known::default();
        let report = every_way::ask(&trace, |source| pass::Io::new(source, &known, range, false));
        assert_eq!(told(&report), "7: 10/1 0/0 | unknown (pid 7) 10/1 0/0");
    }
}
