//! Waits for disks: which disk, and who had requests on it.

use slowpath_findings::FindingId;
use slowpath_model::ThreadId;

use crate::support::{evidence, findings, only};

/// Thread 7 reads from vdb for 20 ms while thread 8 writes a lot to it, and thread 9 to another disk.
fn drawing(interrupt: &str) -> String {
    format!(
        "cpu1 0 lttng_statedump_block_device dev=266338320 diskname=vdb
         cpu0 0 sched_switch prev_comm=swapper/0 prev_tid=0 prev_state=0 next_comm=shop next_tid=7
         cpu0 10 start 7 1
         cpu1 20 sched_switch prev_comm=swapper/1 prev_tid=0 prev_state=0 next_comm=backup next_tid=8
         cpu1 30 block_rq_issue dev=266338320 sector=8000 nr_sector=4096 rwbs=1 tid=8
         cpu1 40 sched_switch prev_comm=backup prev_tid=8 prev_state=2 next_comm=logs next_tid=9
         cpu1 50 block_rq_issue dev=266338304 sector=9000 nr_sector=8192 rwbs=1 tid=9
         cpu1 60 sched_switch prev_comm=logs prev_tid=9 prev_state=2 next_comm=swapper/1 next_tid=0
         cpu0 100 block_rq_issue dev=266338320 sector=16 nr_sector=8 rwbs=4 tid=7
         cpu0 110 sched_switch prev_comm=shop prev_tid=7 prev_state=2 next_comm=swapper/0 next_tid=0
         cpu0 15000 {interrupt}
         cpu0 15001 block_rq_complete dev=266338320 sector=8000 nr_sector=4096 rwbs=1
         cpu0 15002 sched_waking comm=backup tid=8 target_cpu=1
         cpu0 15003 irq_handler_exit irq=38 ret=1
         cpu0 19000 {interrupt}
         cpu0 19001 block_rq_complete dev=266338304 sector=9000 nr_sector=8192 rwbs=1
         cpu0 19002 irq_handler_exit irq=38 ret=1
         cpu0 20100 {interrupt}
         cpu0 20101 block_rq_complete dev=266338320 sector=16 nr_sector=8 rwbs=4
         cpu0 20102 sched_waking comm=shop tid=7 target_cpu=0
         cpu0 20103 sched_wakeup comm=shop tid=7 target_cpu=0
         cpu0 20104 irq_handler_exit irq=38 ret=1
         cpu0 20110 sched_switch prev_comm=swapper/0 prev_tid=0 prev_state=0 next_comm=shop next_tid=7
         cpu0 20200 end 7 1
         cpu0 21000 sched_switch prev_comm=shop prev_tid=7 prev_state=1 next_comm=swapper/0 next_tid=0"
    )
}

#[test]
fn the_disk_is_named_and_who_wrote_and_read() {
    let found = findings(
        &drawing("irq_handler_entry irq=38 name=virtio4-req.1"),
        Vec::new(),
    );
    let finding = only(&found, FindingId::DiskWait);
    assert_eq!(finding.title, "Disk: requests wait for vdb");
    assert!(
        (finding.explanation).contains("waited for a disk for 19.992 ms in all (vdb 19.992 ms)"),
        "{}",
        finding.explanation
    );
    let told = evidence(finding);
    assert_eq!(
        told[..2],
        [
            "vdb was waited for 19.992 ms in all; meanwhile 2.1 MB were being written, by: backup (8) 2.1 MB",
            "vdb was waited for 19.992 ms in all; meanwhile 4.1 kB were being read, by: shop (7) 4.1 kB",
        ]
    );
    assert_eq!(finding.evidence[0].thread, Some(ThreadId(8)));
    // What was written to another disk is no matter.
    assert!(!told.iter().any(|text| text.contains("logs")), "{told:?}");
}

#[test]
fn a_disk_that_the_trace_does_not_tell_is_not_named() {
    let without_blocks: String = drawing("irq_handler_entry irq=38 name=virtio4-req.1")
        .lines()
        .filter(|line| !line.contains("block_"))
        .map(|line| format!("{line}\n"))
        .collect();
    let found = findings(&without_blocks, Vec::new());
    let finding = only(&found, FindingId::DiskWait);
    assert_eq!(finding.title, "Disk: requests wait for a block device");
    assert!(
        (finding.explanation).contains("in all (irq 38 virtio4-req.1 19.992 ms)"),
        "{}",
        finding.explanation
    );
}
