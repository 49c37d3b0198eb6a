//! Why a thread stopped running, in words of no kernel version. Not what it waited for: the call that it was in says that.

/// Why a thread stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SwitchOut {
    /// It could have gone on: it was preempted or yielded.
    Runnable,
    /// It sleeps and may be woken by a signal.
    Interruptible,
    /// It sleeps and waits for one thing only, mostly a device.
    Uninterruptible,
    /// A signal stopped it.
    Stopped,
    /// It is gone.
    Dead,
    /// Anything else (parked, idle kernel thread, held by a debugger).
    Other,
}

impl SwitchOut {
    /// Reads the kernel's `prev_state`, as LTTng and ftrace both record it.
    ///
    /// Bits 0 to 7 are the reported states (`TASK_REPORT` in the kernel's sched.h); higher bits
    /// alone mean "runnable, preempted" under different names over the versions.
    pub fn from_kernel(state: i64) -> Self {
        match state & 0xff {
            0 => Self::Runnable,
            low if low & 0x01 != 0 => Self::Interruptible,
            low if low & 0x02 != 0 => Self::Uninterruptible,
            low if low & 0x04 != 0 => Self::Stopped,
            low if low & 0x30 != 0 => Self::Dead,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switch_states_of_all_kernel_versions() {
        let check = |state, expected| assert_eq!(SwitchOut::from_kernel(state), expected);
        check(0, SwitchOut::Runnable);
        check(0x100, SwitchOut::Runnable); // preempted since 4.14
        check(0x400, SwitchOut::Runnable); // TASK_STATE_MAX before
        check(1, SwitchOut::Interruptible);
        check(2, SwitchOut::Uninterruptible);
        check(0x402, SwitchOut::Uninterruptible); // idle kernel thread before 4.14
        check(0x80, SwitchOut::Other); // idle kernel thread since
        check(0x40, SwitchOut::Other); // parked
        check(16, SwitchOut::Dead);
        check(4, SwitchOut::Stopped);
        check(8, SwitchOut::Other); // a debugger goes on with it
    }
}
