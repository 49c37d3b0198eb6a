//! What io_uring does for threads: operations between their submission and their completion.
//!
//! Each of an operation's events may be told on another processor and in another thread; they are joined by the
//! addresses of ring and request, in the order of time. The latest submission is what a request is. Completions of an
//! operation that go on name no request, but what its program calls it.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use slowpath_concepts::UringRequest;
use slowpath_model::ProcessId;

use super::calls::Way;

/// What an operation does, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Does {
    /// Moves as many bytes as it returns.
    Moves(Way),
    /// Returns a descriptor.
    Opens,
    /// Neither, but completes again and again: what its program calls it may be what another one is called.
    Else,
}

/// An operation that moves bytes, or opens something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Operation {
    pub(super) does: Does,
    /// The descriptor that it looked up latest; -1 where there was none.
    fd: i32,
    /// The same of the one that it writes to, where it reads from another one.
    other_fd: i32,
    is_of_fixed_file: bool,
    /// It may complete again and again.
    may_go_on: bool,
}

impl Operation {
    /// By its number in `linux/io_uring.h`.
    pub(super) fn of(number: u8, is_of_fixed_file: bool) -> Option<Self> {
        let does = match number {
            // READV, READ_FIXED, RECVMSG, READ, RECV, READ_MULTISHOT, RECV_ZC, READV_FIXED
            1 | 4 | 10 | 22 | 27 | 49 | 58 | 60 => Does::Moves(Way::Read),
            // WRITEV, WRITE_FIXED, SENDMSG, WRITE, SEND, SEND_ZC, SENDMSG_ZC, WRITEV_FIXED
            2 | 5 | 9 | 23 | 26 | 47 | 48 | 61 => Does::Moves(Way::Write),
            // SPLICE, TEE
            30 | 33 => Does::Moves(Way::ReadAndWrite),
            // ACCEPT, OPENAT, OPENAT2, SOCKET, FIXED_FD_INSTALL
            13 | 18 | 28 | 45 | 54 => Does::Opens,
            // POLL_ADD, TIMEOUT, URING_CMD
            6 | 11 | 46 => Does::Else,
            _ => return None,
        };
        Some(Self {
            does,
            fd: -1,
            other_fd: -1,
            is_of_fixed_file,
            // RECVMSG, ACCEPT, RECV, READ_MULTISHOT, RECV_ZC, and those above
            may_go_on: matches!(number, 10 | 13 | 27 | 49 | 58) || does == Does::Else,
        })
    }

    /// As those of a call: what is read, or the only one, and what is written besides.
    pub(super) fn descriptors(&self) -> (i32, i32) {
        (self.fd, self.other_fd)
    }

    /// What is written to is looked up first, unless it is fixed (`io_splice`).
    fn looks_up(&mut self, fd: i32) {
        let is_written = self.does == Does::Moves(Way::ReadAndWrite)
            && !self.is_of_fixed_file
            && self.other_fd < 0;
        match is_written {
            true => self.other_fd = fd,
            false => self.fd = fd,
        }
    }
}

/// An operation, whose it is, and what its program calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Submitted {
    pub(super) process: ProcessId,
    pub(super) operation: Operation,
    /// Where it may go on.
    user_data: Option<u64>,
}

impl Submitted {
    pub(super) fn new(process: ProcessId, operation: Operation, user_data: Option<u64>) -> Self {
        Self {
            process,
            operation,
            user_data: user_data.filter(|_| operation.may_go_on),
        }
    }
}

/// What has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completed {
    Of(Submitted),
    /// Something that does not matter here, or one of several that are not told apart.
    OfOthers,
    /// Nothing tells: it was submitted before the trace begins, or sent by another ring.
    OfNothingKnown,
}

/// Operations that have not completed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Operations {
    submitted: FxHashMap<UringRequest, Submitted>,
    /// By ring and what programs call them, those of `submitted` that may go on, the latest last.
    called: FxHashMap<(u64, u64), Vec<UringRequest>>,
    /// Those that do not matter.
    others: FxHashSet<UringRequest>,
}

impl Operations {
    pub(super) fn submit(&mut self, request: UringRequest, submitted: Submitted) {
        self.forget(request);
        self.submitted.insert(request, submitted);
        if let Some(user_data) = submitted.user_data {
            let called = self.called.entry((request.ring, user_data)).or_default();
            called.push(request);
        }
    }

    /// A request is another one from now on.
    pub(super) fn replace(&mut self, request: UringRequest) {
        self.forget(request);
        self.others.insert(request);
    }

    fn forget(&mut self, request: UringRequest) {
        self.others.remove(&request);
        let Some(submitted) = self.submitted.remove(&request) else {
            return;
        };
        let Some(user_data) = submitted.user_data else {
            return;
        };
        let place = (request.ring, user_data);
        if let Some(called) = self.called.get_mut(&place) {
            // Most complete soon: it is one of the latest.
            if let Some(position) = called.iter().rposition(|other| *other == request) {
                called.remove(position);
            }
            if called.is_empty() {
                self.called.remove(&place);
            }
        }
    }

    pub(super) fn looks_up(&mut self, request: UringRequest, fd: i32) {
        if let Some(submitted) = self.submitted.get_mut(&request) {
            submitted.operation.looks_up(fd);
        }
    }

    /// What completed.
    pub(super) fn complete(
        &mut self,
        request: UringRequest,
        user_data: Option<u64>,
        has_more: bool,
    ) -> Completed {
        if request.request == 0 {
            return user_data.map_or(Completed::OfOthers, |user_data| {
                self.called(request.ring, user_data)
            });
        }
        let completed = match self.submitted.get(&request) {
            Some(submitted) => Completed::Of(*submitted),
            None if self.others.contains(&request) => Completed::OfOthers,
            None => Completed::OfNothingKnown,
        };
        if !has_more {
            self.forget(request);
        }
        completed
    }

    /// What the program of a ring calls so. Of several that it calls the same, and that do the same, the file is not
    /// known.
    fn called(&self, ring: u64, user_data: u64) -> Completed {
        let called = self.called.get(&(ring, user_data)).into_iter().flatten();
        let mut called = called.filter_map(|request| self.submitted.get(request));
        let Some(mut one) = called.next().copied() else {
            return Completed::OfNothingKnown;
        };
        for other in called {
            if (other.process, other.operation.does) != (one.process, one.operation.does) {
                return Completed::OfOthers;
            }
            if other.operation != one.operation {
                one.operation.fd = -1;
                one.operation.other_fd = -1;
            }
        }
        Completed::Of(one)
    }
}

#[cfg(test)]
mod tests {
    use slowpath_engine::Options;
    use slowpath_model::{DiagnosticCode, TimeRange, Timestamp};

    use crate::answer::every_way;
    use crate::io::tests::{check, drawn, told};
    use crate::io::{Known, io, pass};

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
             cpu0 50 io_uring_submit_sqe ctx=1 req=16 opcode=27 flags=0
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
    fn what_goes_on_is_found_by_what_its_program_calls_it() {
        check(
            "cpu0 1 0>7
             cpu0 10 io_uring_submit_req ctx=1 req=16 user_data=5 opcode=27 flags=0
             cpu0 11 io_uring_file_get ctx=1 req=16 user_data=5 fd=3
             cpu0 12 io_uring_submit_req ctx=1 req=17 user_data=5 opcode=26 flags=0
             cpu0 13 io_uring_submit_req ctx=2 req=18 user_data=5 opcode=49 flags=0
             cpu0 20 7>8
             cpu0 21 io_uring_complete ctx=1 req=0 user_data=5 res=100 cflags=3
             cpu0 22 io_uring_complete ctx=1 req=0 user_data=5 res=20 cflags=3
             cpu0 23 io_uring_complete ctx=1 req=0 user_data=6 res=1000 cflags=3
             cpu0 24 io_uring_complete ctx=2 req=0 user_data=5 res=3 cflags=3
             cpu0 25 io_uring_complete ctx=1 req=16 user_data=5 res=-105 cflags=0
             cpu0 26 io_uring_complete ctx=1 req=0 user_data=5 res=1000 cflags=3
             cpu0 27 io_uring_complete ctx=1 req=17 user_data=5 res=6 cflags=0
             cpu0 28 io_uring_submit_req ctx=1 req=16 user_data=9 opcode=27 flags=0
             cpu0 29 io_uring_file_get ctx=1 req=16 user_data=9 fd=3
             cpu0 30 io_uring_submit_req ctx=1 req=17 user_data=9 opcode=27 flags=0
             cpu0 31 io_uring_file_get ctx=1 req=17 user_data=9 fd=4
             cpu0 32 io_uring_complete ctx=1 req=0 user_data=9 res=7 cflags=3
             cpu0 40 8>0",
            "7:t7 123/3 6/1, 8:t8 7/1 0/0 | unknown (pid 7, fd 3) 120/2 0/0, unknown (pid 7) 3/1 6/1, unknown (pid 8) 7/1 0/0",
        );
    }

    #[test]
    fn what_a_program_calls_a_poll_as_well_is_no_read() {
        // Both completions that name no request are of the poll or the read, nothing tells.
        check(
            "cpu0 1 0>7
             cpu0 10 io_uring_submit_req ctx=1 req=16 user_data=5 opcode=27 flags=0
             cpu0 11 io_uring_file_get ctx=1 req=16 user_data=5 fd=3
             cpu0 12 io_uring_submit_req ctx=1 req=17 user_data=5 opcode=6 flags=0
             cpu0 21 io_uring_complete ctx=1 req=0 user_data=5 res=1 cflags=2
             cpu0 22 io_uring_complete ctx=1 req=0 user_data=5 res=1 cflags=2
             cpu0 23 io_uring_complete ctx=1 req=16 user_data=5 res=10 cflags=0
             cpu0 24 io_uring_complete ctx=1 req=0 user_data=5 res=1 cflags=2
             cpu0 30 7>0",
            "7:t7 10/1 0/0 | unknown (pid 7, fd 3) 10/1 0/0",
        );
    }

    #[test]
    fn what_was_submitted_before_the_trace_is_told() {
        let text = "cpu0 1 0>7
             cpu0 10 io_uring_complete ctx=1 req=0 user_data=5 res=100 cflags=2
             cpu0 11 io_uring_complete ctx=1 req=16 user_data=6 res=100 cflags=0
             cpu0 12 io_uring_complete ctx=1 req=16 user_data=6 res=0 cflags=0
             cpu0 13 io_uring_complete ctx=1 req=16 user_data=6 res=-4 cflags=0
             cpu0 14 io_uring_submit_req ctx=1 req=17 user_data=5 opcode=0 flags=0
             cpu0 15 io_uring_complete ctx=1 req=17 user_data=5 res=3 cflags=0
             cpu0 16 io_uring_submit_req ctx=1 req=18 user_data=5 opcode=22 flags=0
             cpu0 17 io_uring_complete ctx=1 req=18 user_data=5 res=3 cflags=0
             cpu0 30 7>0";
        let source = drawn(text);
        let outcome = io(&source, &Known::default(), &Options::default()).expect("not cancelled");
        let counts = outcome
            .diagnostics
            .iter()
            .map(|told| (told.code, told.count));
        let counts: Vec<_> = counts.collect();
        assert_eq!(counts, [(DiagnosticCode::UnknownOperations, Some(2))]);
    }

    #[test]
    fn what_was_sent_without_a_copy_counts_once() {
        check(
            "cpu0 1 0>7
             cpu0 10 io_uring_submit_req ctx=1 req=16 opcode=47 flags=0
             cpu0 11 io_uring_file_get ctx=1 req=16 fd=3
             cpu0 12 io_uring_complete ctx=1 req=16 res=2000 cflags=2
             cpu0 13 io_uring_complete ctx=1 req=17 res=0 cflags=8
             cpu0 20 io_uring_submit_req ctx=1 req=17 opcode=48 flags=0
             cpu0 21 io_uring_file_get ctx=1 req=17 fd=3
             cpu0 22 io_uring_complete ctx=1 req=17 res=30 cflags=2
             cpu0 23 io_uring_complete ctx=1 req=16 res=0 cflags=8
             cpu0 24 io_uring_submit_req ctx=1 req=18 opcode=60 flags=0
             cpu0 25 io_uring_complete ctx=1 req=18 res=4 cflags=0
             cpu0 30 7>0",
            "7:t7 4/1 2030/2 | unknown (pid 7, fd 3) 0/0 2030/2, unknown (pid 7) 4/1 0/0",
        );
    }

    #[test]
    fn a_descriptor_that_is_opened_by_io_uring_is_another_file() {
        check(
            "cpu0 1 0>7
             cpu0 2 >openat filename=/a
             cpu0 3 <openat ret=3
             cpu0 4 >openat filename=/b
             cpu0 5 <openat ret=4
             cpu0 10 io_uring_submit_req ctx=1 req=16 opcode=19 flags=0
             cpu0 11 io_uring_complete ctx=1 req=16 res=0 cflags=0
             cpu0 12 io_uring_submit_req ctx=1 req=16 user_data=8 opcode=13 flags=0
             cpu0 13 io_uring_complete ctx=1 req=0 user_data=8 res=3 cflags=2
             cpu0 14 io_uring_complete ctx=1 req=16 user_data=8 res=-4 cflags=0
             cpu0 20 >read fd=3
             cpu0 21 <read ret=100
             cpu0 22 >read fd=4
             cpu0 23 <read ret=5
             cpu0 30 7>0",
            "7:t7 105/2 0/0 | unknown (pid 7, fd 3) 100/1 0/0, /b 5/1 0/0",
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
