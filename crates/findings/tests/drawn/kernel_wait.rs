//! Waits for devices that are neither disk nor network nor clock, and for work of the kernel.

use slowpath_findings::{Finding, FindingId};

use crate::support::{evidence, findings, only};

/// Thread 7 serves a request of 25 ms and calls `call` at 1 ms, until an interrupt at 21 ms, between `entry` and `exit`, wakes
/// it.
fn woken_by(call: &str, entry: &str, exit: &str) -> Vec<Finding> {
    let switch = "sched_switch prev_comm=shop prev_tid";
    let drawing = format!(
        "cpu0 1 {switch}=0 prev_state=0 next_comm=shop next_tid=7
         cpu0 2 start 7 1
         cpu0 990 syscall_entry_{call} fd=1
         cpu0 1000 {switch}=7 prev_state=1 next_comm=shop next_tid=0
         cpu0 21000 {entry}
         cpu0 21001 sched_waking comm=shop tid=7 target_cpu=0
         cpu0 21002 sched_wakeup comm=shop tid=7 target_cpu=0
         cpu0 21003 {exit}
         cpu0 21010 {switch}=0 prev_state=0 next_comm=shop next_tid=7
         cpu0 21020 syscall_exit_{call} ret=0
         cpu0 25000 end 7 1
         cpu0 25010 {switch}=7 prev_state=1 next_comm=shop next_tid=0\n"
    );
    findings(&drawing, Vec::new())
}

#[test]
fn a_wait_that_another_device_ends_is_told_with_its_interrupt() {
    let found = woken_by(
        "ioctl",
        "irq_handler_entry irq=37 name=i915",
        "irq_handler_exit irq=37 ret=1",
    );
    let finding = only(&found, FindingId::KernelWait);
    assert!((0.79..0.81).contains(&finding.share), "{}", finding.share);
    assert_eq!(
        finding.title,
        "Kernel or device: requests wait for an interrupt (in ioctl, irq 37 i915)"
    );
    assert_eq!(
        evidence(finding),
        [
            "shop (7): waited in the kernel for 20.001 ms in request 0000000000000001 (shop)",
            "by call and interrupt: in ioctl, irq 37 i915 20.001 ms",
        ]
    );
}

#[test]
fn a_wait_for_the_kernel_or_a_terminal_is_told_as_well() {
    let rcu = woken_by(
        "membarrier",
        "irq_softirq_entry vec=9",
        "irq_softirq_exit vec=9",
    );
    let title = &only(&rcu, FindingId::KernelWait).title;
    assert_eq!(
        title,
        "Kernel or device: requests wait for an interrupt (in membarrier, softirq RCU)"
    );
    let terminal = woken_by(
        "read",
        "irq_handler_entry irq=4 name=ttyS0",
        "irq_handler_exit irq=4 ret=1",
    );
    let title = &only(&terminal, FindingId::KernelWait).title;
    assert_eq!(
        title,
        "Kernel or device: requests wait for an interrupt (in read, irq 4 ttyS0)"
    );
}

#[test]
fn a_wait_for_a_disk_is_the_disks() {
    let found = woken_by(
        "read",
        "irq_handler_entry irq=38 name=virtio4-req.1",
        "irq_handler_exit irq=38 ret=1",
    );
    only(&found, FindingId::DiskWait);
    let others = found.iter().filter(|one| one.id == FindingId::KernelWait);
    assert_eq!(others.count(), 0);
}

#[test]
fn a_thread_of_the_kernel_that_sleeps_meanwhile_is_no_time_out_of_the_program() {
    // The thread 12 of RCU looks again after 20 ms, and ends the call of thread 7.
    let switch = "sched_switch prev_comm";
    let drawing = format!(
        "cpu0 0 sched_process_fork parent_tid=2 parent_pid=2 child_tid=12 child_pid=12 child_comm=rcu_preempt
         cpu0 1 {switch}=idle prev_tid=0 prev_state=0 next_comm=shop next_tid=7
         cpu0 2 start 7 1
         cpu0 990 syscall_entry_membarrier fd=1
         cpu0 1000 {switch}=shop prev_tid=7 prev_state=1 next_comm=rcu_preempt next_tid=12
         cpu0 1010 {switch}=rcu_preempt prev_tid=12 prev_state=1 next_comm=idle next_tid=0
         cpu0 21000 irq_softirq_entry vec=1
         cpu0 21001 sched_waking comm=rcu_preempt tid=12 target_cpu=0
         cpu0 21002 sched_wakeup comm=rcu_preempt tid=12 target_cpu=0
         cpu0 21003 irq_softirq_exit vec=1
         cpu0 21010 {switch}=idle prev_tid=0 prev_state=0 next_comm=rcu_preempt next_tid=12
         cpu0 21020 sched_waking comm=shop tid=7 target_cpu=0
         cpu0 21021 sched_wakeup comm=shop tid=7 target_cpu=0
         cpu0 21030 {switch}=rcu_preempt prev_tid=12 prev_state=1 next_comm=shop next_tid=7
         cpu0 21040 syscall_exit_membarrier ret=0
         cpu0 25000 end 7 1
         cpu0 25010 {switch}=shop prev_tid=7 prev_state=1 next_comm=idle next_tid=0\n"
    );
    let found = findings(&drawing, Vec::new());
    let finding = only(&found, FindingId::KernelWait);
    assert_eq!(
        finding.title,
        "Kernel or device: requests wait for an interrupt (in membarrier, a timer of rcu_preempt)"
    );
    let others = found.iter().filter(|one| one.id == FindingId::TimerWait);
    assert_eq!(others.count(), 0);
}
