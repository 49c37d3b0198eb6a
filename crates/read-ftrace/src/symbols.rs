//! Which of the kernel's functions have to do with system calls, by `kallsyms`: its table of addresses and names.
//!
//! Where a thread's stack passes through one that serves a call, the thread is in that call.

use slowpath_model::{CallCode, CallStage};

/// What the names of functions begin with that serve calls (`SYSCALL_DEFINE` of the kernel's headers), and what the tracers
/// put before a call that is made so. Compilers leave out the outer function or the inner one.
const PREFIXES: [(&str, &str); 9] = [
    ("__x64_sys_", ""),
    ("__ia32_compat_sys_", "compat_"),
    ("__ia32_sys_", "compat_"),
    ("__do_compat_sys_", "compat_"),
    ("__do_sys_", ""),
    ("__se_sys_", ""),
    ("__arm64_compat_sys_", "compat_"),
    ("__arm64_sys_", ""),
    ("__riscv_sys_", ""),
];

/// Functions whose names are not those of their calls, as in the kernel's tables of calls by number.
const CALLED_OTHERWISE: [(&str, &str); 7] = [
    ("newstat", "stat"),
    ("newfstat", "fstat"),
    ("newlstat", "lstat"),
    ("newuname", "uname"),
    ("umount", "umount2"),
    ("sendfile64", "sendfile"),
    ("sysctl", "_sysctl"),
];

/// What functions that serve calls do last of all: compilers put it in their place in the stack. Of calls that differ in a
/// flag, the simpler one.
const DONE_LAST: [(&str, &str); 25] = [
    ("__sys_accept4", "accept4"),
    ("__sys_connect", "connect"),
    ("__sys_recvfrom", "recvfrom"),
    ("__sys_recvmmsg", "recvmmsg"),
    ("__sys_recvmsg", "recvmsg"),
    ("__sys_sendmmsg", "sendmmsg"),
    ("__sys_sendmsg", "sendmsg"),
    ("__sys_sendto", "sendto"),
    ("do_epoll_pwait", "epoll_pwait"),
    ("do_epoll_wait", "epoll_wait"),
    ("do_fsync", "fsync"),
    ("do_futex", "futex"),
    ("do_preadv", "preadv"),
    ("do_pselect", "pselect6"),
    ("do_pwritev", "pwritev"),
    ("do_readv", "readv"),
    ("do_sys_poll", "poll"),
    ("do_writev", "writev"),
    ("ksys_mmap_pgoff", "mmap"),
    ("ksys_pread64", "pread64"),
    ("ksys_pwrite64", "pwrite64"),
    ("ksys_read", "read"),
    ("ksys_semtimedop", "semtimedop"),
    ("ksys_write", "write"),
    ("vm_mmap_pgoff", "mmap"),
];

/// Of x86, 64-bit ARM, RISC-V and LoongArch.
const TAKE_CALLS: [&str; 9] = [
    "do_syscall_64",
    "do_int80_emulation",
    "do_int80_syscall_32",
    "__do_fast_syscall_32",
    "do_fast_syscall_32",
    "do_el0_svc",
    "do_el0_svc_compat",
    "do_trap_ecall_u",
    "do_syscall",
];
const RETURN: [&str; 6] = [
    "exit_to_user_mode_loop",
    "exit_to_user_mode_prepare",
    "syscall_exit_to_user_mode",
    "syscall_exit_to_user_mode_work",
    "arch_do_signal_or_restart",
    "do_notify_resume",
];

/// The functions of a table, in the order of addresses. Each ends where the next one of any kind begins. A table whose
/// addresses are hidden (all zero), or that cannot be understood, has none.
pub(crate) fn call_code(kallsyms: &str) -> Vec<CallCode> {
    let symbols = kallsyms.lines().filter_map(symbol);
    let mut symbols: Vec<(u64, &str)> = symbols.filter(|(address, _)| *address != 0).collect();
    symbols.sort_unstable();
    let groups: Vec<&[(u64, &str)]> = symbols.chunk_by(|one, other| one.0 == other.0).collect();
    let ends = groups.iter().skip(1).map(|group| group[0].0);
    let of_calls = groups.iter().zip(ends).filter_map(|(group, end)| {
        let does = group.iter().find_map(|(_, name)| stage(name))?;
        Some(CallCode {
            addresses: group[0].0..end,
            does,
        })
    });
    of_calls.collect()
}

/// A line: address, kind, name, and perhaps a module.
fn symbol(line: &str) -> Option<(u64, &str)> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    Some((address, words.nth(1)?))
}

fn stage(function: &str) -> Option<CallStage> {
    // Compilers give parts of functions names of their own (`__do_sys_brk.cold`).
    let function = function.split('.').next().unwrap_or(function);
    if TAKE_CALLS.contains(&function) {
        return Some(CallStage::Takes);
    }
    if RETURN.contains(&function) {
        return Some(CallStage::Returns);
    }
    let done_last = DONE_LAST.iter().find(|(last, _)| *last == function);
    let served = done_last.map(|(_, call)| (*call).to_owned());
    served
        .or_else(|| call_served_by(function))
        .map(CallStage::Serves)
}

fn call_served_by(function: &str) -> Option<String> {
    let (made_so, name) = PREFIXES.iter().find_map(|(prefix, made_so)| {
        let name = function.strip_prefix(prefix)?;
        Some((made_so, name))
    })?;
    // 32-bit programs' calls before they had wide times.
    let name = name.strip_suffix("_time32").unwrap_or(name);
    let renamed = CALLED_OTHERWISE.iter().find(|(served, _)| *served == name);
    let call = renamed.map_or(name, |(_, call)| call);
    (name != "ni_syscall").then(|| format!("{made_so}{call}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kallsyms: &str, expected: &[(u64, u64, CallStage)]) {
        let found = call_code(kallsyms);
        let found: Vec<(u64, u64, CallStage)> = (found.iter())
            .map(|code| (code.addresses.start, code.addresses.end, code.does.clone()))
            .collect();
        assert_eq!(found, expected, "{kallsyms}");
    }

    fn serves(call: &str) -> CallStage {
        CallStage::Serves(call.to_owned())
    }

    #[test]
    fn functions_of_calls_reach_to_the_next_one() {
        let kallsyms = "ffff0100 T __x64_sys_futex\nffff01f0 T __pfx_other\n\
            ffff0050 t __do_sys_newfstat\nffff0050 t alias\n\
            ffff0300 T __ia32_sys_nanosleep_time32\nffff0200 T other\n\
            ffff0380 T do_syscall_64\nffff0390 T ksys_read\nffff03a0 t exit_to_user_mode_loop\n\
            ffff03b0 t __do_sys_brk.cold\n\
            ffff0400 t a_module's\t[some]\nffff0500 T __x64_sys_read";
        let expected = [
            (0xffff_0050, 0xffff_0100, serves("fstat")),
            (0xffff_0100, 0xffff_01f0, serves("futex")),
            (0xffff_0300, 0xffff_0380, serves("compat_nanosleep")),
            (0xffff_0380, 0xffff_0390, CallStage::Takes),
            (0xffff_0390, 0xffff_03a0, serves("read")),
            (0xffff_03a0, 0xffff_03b0, CallStage::Returns),
            (0xffff_03b0, 0xffff_0400, serves("brk")),
        ];
        check(kallsyms, &expected);
    }

    #[test]
    fn what_cannot_be_understood_has_none() {
        check("", &[]);
        check(
            "0000000000000000 T __x64_sys_futex\n0000000000000000 T b",
            &[],
        );
        check(
            "x T __x64_sys_futex\n10\n20 T\n30 T __x64_sys_ni_syscall\n40 T b",
            &[],
        );
    }
}
