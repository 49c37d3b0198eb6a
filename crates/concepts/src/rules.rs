//! Which event of which tracer is which fact, and which of its fields go into which slot.
//!
//! LTTng calls threads `tid` where ftrace says `pid`, and has renamed events over its versions; all
//! the names are here and nowhere else. A slot lists the field's names, the first that exists wins.

use slowpath_model::EventClass;

use crate::FactKind;

/// How one kind of event is recognised and where its values are.
pub(crate) struct Rule {
    pub(crate) kind: FactKind,
    /// Event names of all tracers and versions.
    names: &'static [&'static str],
    /// By slot: the names that the field goes by.
    pub(crate) slots: &'static [&'static [&'static str]],
}

/// The rule that an event class falls under.
pub(crate) fn rule_for(class: &EventClass) -> Option<&'static Rule> {
    RULES
        .iter()
        .find(|rule| rule.names.contains(&class.name.as_str()))
}

const RULES: &[Rule] = &[
    Rule {
        kind: FactKind::Switch,
        names: &["sched_switch"],
        slots: &[
            &["prev_tid", "prev_pid"],
            &["prev_state"],
            &["next_tid", "next_pid"],
            &["prev_comm"],
            &["next_comm"],
        ],
    },
    Rule {
        kind: FactKind::Waking,
        names: &["sched_waking"],
        slots: WAKE,
    },
    Rule {
        kind: FactKind::Wakeup,
        names: &["sched_wakeup"],
        slots: WAKE,
    },
    Rule {
        kind: FactKind::WakeupNew,
        names: &["sched_wakeup_new"],
        slots: WAKE,
    },
    Rule {
        kind: FactKind::Migrate,
        names: &["sched_migrate_task"],
        slots: &[&["tid", "pid"], &["orig_cpu"], &["dest_cpu"]],
    },
    Rule {
        kind: FactKind::IrqEntry,
        names: &["irq_handler_entry"],
        slots: &[&["irq"], &["name"]],
    },
    Rule {
        kind: FactKind::IrqExit,
        names: &["irq_handler_exit"],
        slots: &[&["irq"]],
    },
    Rule {
        kind: FactKind::SoftirqRaise,
        names: &["irq_softirq_raise", "softirq_raise"],
        slots: &[&["vec"]],
    },
    Rule {
        kind: FactKind::SoftirqEntry,
        names: &["irq_softirq_entry", "softirq_entry"],
        slots: &[&["vec"]],
    },
    Rule {
        kind: FactKind::SoftirqExit,
        names: &["irq_softirq_exit", "softirq_exit"],
        slots: &[&["vec"]],
    },
    Rule {
        kind: FactKind::TimerEntry,
        names: &["timer_hrtimer_expire_entry", "hrtimer_expire_entry"],
        slots: TIMER,
    },
    Rule {
        kind: FactKind::TimerExit,
        names: &["timer_hrtimer_expire_exit", "hrtimer_expire_exit"],
        slots: TIMER,
    },
];

const WAKE: &[&[&str]] = &[&["tid", "pid"], &["comm"], &["target_cpu"]];
const TIMER: &[&[&str]] = &[&["hrtimer", "timer"]];
