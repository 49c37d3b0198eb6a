//! The system call that a thread is in, by its stack in the kernel: for recordings that have no events of calls.
//!
//! A stack holds the addresses to which functions return, the innermost first. One of them lies in the function that
//! serves the call, where there is one: threads of the kernel, and those that wait for a page of memory, have none.

use std::ops::Range;

use slowpath_model::{CallStage, Event, EventClass, FieldId, FieldKind, Schema, ThreadId};

use crate::syscall::{payload_field, thread_field};
use crate::{Fact, SyscallId, slot};

const THREAD: u16 = 0;
const ADDRESSES: u16 = 1;

/// What a thread is in by whose code is in its stack.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Code {
    Of(SyscallId),
    /// Some call.
    OfAll,
    OfReturn,
}

/// Where the code of system calls is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stacks {
    /// In the order of addresses.
    code: Vec<(Range<u64>, Code)>,
    /// For calls whose own code is not found.
    some: SyscallId,
}

/// The fields of `class` by slot, if its events are stacks (ftrace's) that tell calls in this schema.
pub(crate) fn slots(schema: &Schema, class: &EventClass) -> Option<Vec<Option<FieldId>>> {
    let (thread, addresses) = (thread_field(class)?, payload_field(class, "caller")?);
    let tells_calls = is_stack(class)
        && class.fields[addresses.index()].kind == FieldKind::Bytes
        && !schema.call_code.is_empty();
    tells_calls.then(|| vec![Some(thread), Some(addresses)])
}

/// Whether the events of a class are stacks of threads in the kernel, as ftrace writes them.
pub(crate) fn is_stack(class: &EventClass) -> bool {
    class.name == "kernel_stack"
}

impl Stacks {
    /// @param number gives calls their numbers
    pub(crate) fn of(schema: &Schema, mut number: impl FnMut(&str) -> SyscallId) -> Self {
        let code = schema.call_code.iter().map(|code| {
            let what = match &code.does {
                CallStage::Serves(call) => Code::Of(number(call)),
                CallStage::Takes => Code::OfAll,
                CallStage::Returns => Code::OfReturn,
            };
            (code.addresses.clone(), what)
        });
        Self {
            code: code.collect(),
            some: number("unknown"),
        }
    }

    pub(crate) fn fact(&self, event: &Event<'_>) -> Fact<'static> {
        let (addresses, _) = event.raw_bytes(slot(ADDRESSES)).as_chunks();
        let outermost_first = addresses.iter().rev();
        Fact::Stack {
            thread: ThreadId(event.signed(slot(THREAD)) as i32),
            call: self.call(outermost_first.map(|bytes| u64::from_le_bytes(*bytes))),
        }
    }

    fn call(&self, outermost_first: impl Iterator<Item = u64>) -> Option<SyscallId> {
        let mut some = None;
        for code in outermost_first.filter_map(|address| self.code_before(address)) {
            match code {
                Code::Of(call) => return Some(call),
                Code::OfAll => some = Some(self.some),
                Code::OfReturn => return None,
            }
        }
        some
    }

    /// What has the instruction before `address`, to which a function returns: where calling another one is the last that
    /// it does, `address` is the next one's.
    fn code_before(&self, address: u64) -> Option<Code> {
        let call = address.checked_sub(1)?;
        let next = self.code.partition_point(|(code, _)| code.start <= call);
        let (code, what) = self.code.get(next.checked_sub(1)?)?;
        code.contains(&call).then_some(*what)
    }
}

#[cfg(test)]
mod tests {
    use slowpath_model::CallCode;

    use super::*;

    const NAMES: [&str; 3] = ["futex", "read", "unknown"];

    fn stacks() -> Stacks {
        let code = |addresses, does| CallCode { addresses, does };
        let serves = |call: &str| CallStage::Serves(call.to_owned());
        let schema = Schema {
            call_code: vec![
                code(100..200, serves("futex")),
                code(200..300, serves("read")),
                code(400..500, CallStage::Takes),
                code(500..600, CallStage::Returns),
            ],
            ..Schema::default()
        };
        Stacks::of(&schema, |call| {
            let position = NAMES.iter().position(|name| *name == call);
            SyscallId(position.expect("a call of these") as u16)
        })
    }

    fn check(outermost_first: &[u64], expected: Option<&str>) {
        let call = stacks().call(outermost_first.iter().copied());
        let call = call.map(|call| NAMES[call.index()]);
        assert_eq!(call, expected, "{outermost_first:?}");
    }

    #[test]
    fn an_address_is_where_the_call_before_it_returns_to() {
        for (address, expected) in [
            (0, None),
            (100, None),
            (101, Some("futex")),
            (200, Some("futex")),
            (201, Some("read")),
            (301, None),
            (u64::MAX, None),
        ] {
            check(&[address], expected);
        }
    }

    #[test]
    fn a_thread_is_in_the_outermost_call_until_that_returns() {
        check(&[], None);
        check(&[9, 450, 250, 150, 7], Some("read"));
        check(&[9, 450, 7], Some("unknown"));
        check(&[9, 450, 550, 150], None);
    }
}
