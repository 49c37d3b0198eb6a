//! What a device interrupt stands for, told by the name of its handler.
//!
//! Drivers choose these names freely; the patterns are those of the kernel's own drivers. A name
//! that fits none says nothing, and the caller decides by how the thread waited.

use crate::State;

/// What a thread waited for that was woken by an interrupt handler of this name.
pub(crate) fn device_state(handler: &str) -> Option<State> {
    let name = handler.to_ascii_lowercase();
    let begins = |patterns: &[&str]| patterns.iter().any(|pattern| name.starts_with(pattern));
    let contains = |patterns: &[&str]| patterns.iter().any(|pattern| name.contains(pattern));
    // `virtio1-req.0` is a disk's request queue, `virtio0-input.0` a network card's receive queue.
    if begins(&["virtio"]) {
        return match () {
            () if contains(&["-req", "-request"]) => Some(State::BlockDevice),
            () if contains(&["-input", "-output", "-control"]) => Some(State::Network),
            () => None,
        };
    }
    let disks = [
        "nvme", "ahci", "ata", "sata", "mmc", "sdhci", "megasas", "megaraid", "mpt", "blkif",
        "aacraid", "hpsa", "xen-blk", "ufshcd", "floppy",
    ];
    let network = [
        "eth", "en", "wl", "ib", "mlx", "iwl", "ath", "ixgb", "igb", "i40e", "ice-", "bnx", "tg3",
        "e1000", "r816", "vif", "gve", "mana", "vmxnet",
    ];
    let input = [
        "i8042", "ttys", "hid", "xhci", "ehci", "uhci", "ohci", "serial", "rmi4", "elan",
    ];
    let clocks = ["hpet", "rtc", "timer", "arch_timer"];
    [
        (&disks[..], State::BlockDevice),
        (&clocks[..], State::Timer),
        (&input[..], State::UserInput),
        (&network[..], State::Network),
    ]
    .into_iter()
    .find(|(patterns, _)| begins(patterns))
    .map(|(_, state)| state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_of_common_drivers() {
        let check = |name, expected| assert_eq!(device_state(name), expected, "{name}");
        check("virtio2-req.0", Some(State::BlockDevice));
        check("virtio0-input.0", Some(State::Network));
        check("nvme0q3", Some(State::BlockDevice));
        check("ahci[0000:00:1f.2]", Some(State::BlockDevice));
        check("enp3s0-TxRx-0", Some(State::Network));
        check("eth0", Some(State::Network));
        check("i8042", Some(State::UserInput));
        check("ttyS0", Some(State::UserInput));
        check("hpet0", Some(State::Timer));
        check("acpi", None);
    }
}
