//! Which event of which tracer is which fact, and which of its fields go into which slot.
//!
//! LTTng calls threads `tid` where ftrace says `pid`, and has renamed events over its versions; all
//! the names are here and nowhere else. A slot lists the field's names, the first that exists wins.
//! Spans are told by applications, each under a provider name of its own: only what follows it counts.

use slowpath_model::EventClass;

use crate::FactKind;

/// How one kind of event is recognised and where its values are.
pub(crate) struct Rule {
    pub(crate) kind: FactKind,
    /// Event names of all tracers and versions; `:name` is that of any provider.
    names: &'static [&'static str],
    /// Fields without which it is not meant: they tell tracers apart that use one name differently.
    needs: &'static [&'static str],
    /// By slot: the names that the field goes by.
    pub(crate) slots: &'static [&'static [&'static str]],
}

/// The rule that an event class falls under, where facts of these kinds are asked for.
pub(crate) fn rule_for(class: &EventClass, kinds: &[FactKind]) -> Option<&'static Rule> {
    let called = |name: &&str| match name.starts_with(':') {
        true => class.name.ends_with(name),
        false => class.name == *name,
    };
    RULES.iter().find(|rule| {
        kinds.contains(&rule.kind)
            && rule.names.iter().any(called)
            && rule.needs.iter().all(|field| class.field(field).is_some())
    })
}

const RULES: &[Rule] = &[
    Rule {
        kind: FactKind::Switch,
        names: &["sched_switch"],
        needs: &[],
        slots: &[
            &["prev_tid", "prev_pid"],
            &["prev_state"],
            &["next_tid", "next_pid"],
            &["prev_comm"],
            &["next_comm"],
        ],
    },
    Rule {
        kind: FactKind::SwitchPriorities,
        names: &["sched_switch"],
        needs: &["prev_prio", "next_prio"],
        slots: &[
            &["prev_tid"],
            &["prev_pid"],
            &["next_tid"],
            &["next_pid"],
            &["prev_prio"],
            &["next_prio"],
        ],
    },
    Rule {
        kind: FactKind::Waking,
        names: &["sched_waking"],
        needs: &[],
        slots: WAKE,
    },
    Rule {
        kind: FactKind::Wakeup,
        names: &["sched_wakeup"],
        needs: &[],
        slots: WAKE,
    },
    Rule {
        kind: FactKind::WakeupNew,
        names: &["sched_wakeup_new"],
        needs: &[],
        slots: WAKE,
    },
    Rule {
        kind: FactKind::Migrate,
        names: &["sched_migrate_task"],
        needs: &[],
        slots: &[&["tid", "pid"], &["orig_cpu"], &["dest_cpu"]],
    },
    Rule {
        kind: FactKind::IrqEntry,
        names: &["irq_handler_entry"],
        needs: &[],
        slots: &[&["irq"], &["name"]],
    },
    Rule {
        kind: FactKind::IrqExit,
        names: &["irq_handler_exit"],
        needs: &[],
        slots: &[&["irq"]],
    },
    Rule {
        kind: FactKind::SoftirqRaise,
        names: &["irq_softirq_raise", "softirq_raise"],
        needs: &[],
        slots: &[&["vec"]],
    },
    Rule {
        kind: FactKind::SoftirqEntry,
        names: &["irq_softirq_entry", "softirq_entry"],
        needs: &[],
        slots: &[&["vec"]],
    },
    Rule {
        kind: FactKind::SoftirqExit,
        names: &["irq_softirq_exit", "softirq_exit"],
        needs: &[],
        slots: &[&["vec"]],
    },
    Rule {
        kind: FactKind::TimerEntry,
        names: &["timer_hrtimer_expire_entry", "hrtimer_expire_entry"],
        needs: &[],
        slots: TIMER_ENTRY,
    },
    Rule {
        kind: FactKind::TimerExit,
        names: &["timer_hrtimer_expire_exit", "hrtimer_expire_exit"],
        needs: &[],
        slots: TIMER,
    },
    Rule {
        kind: FactKind::LocalTimerEntry,
        names: &["x86_irq_vectors_local_timer_entry", "local_timer_entry"],
        needs: &[],
        slots: &[],
    },
    Rule {
        kind: FactKind::LocalTimerExit,
        names: &["x86_irq_vectors_local_timer_exit", "local_timer_exit"],
        needs: &[],
        slots: &[],
    },
    Rule {
        kind: FactKind::IpiEntry,
        names: &[
            "x86_irq_vectors_reschedule_entry",
            "x86_irq_vectors_call_function_entry",
            "x86_irq_vectors_call_function_single_entry",
            "x86_irq_vectors_irq_work_entry",
            "reschedule_entry",
            "call_function_entry",
            "call_function_single_entry",
            "irq_work_entry",
            "ipi_entry",
        ],
        needs: &[],
        slots: &[],
    },
    Rule {
        kind: FactKind::IpiExit,
        names: &[
            "x86_irq_vectors_reschedule_exit",
            "x86_irq_vectors_call_function_exit",
            "x86_irq_vectors_call_function_single_exit",
            "x86_irq_vectors_irq_work_exit",
            "reschedule_exit",
            "call_function_exit",
            "call_function_single_exit",
            "irq_work_exit",
            "ipi_exit",
        ],
        needs: &[],
        slots: &[],
    },
    // The headers where they are asked for; these before the same events without.
    Rule {
        kind: FactKind::SegmentQueued,
        names: &["net_dev_queue"],
        needs: SEGMENT_NEEDS,
        slots: SEGMENT,
    },
    Rule {
        kind: FactKind::SegmentReceived,
        names: &["net_if_receive_skb"],
        needs: SEGMENT_NEEDS,
        slots: SEGMENT,
    },
    Rule {
        kind: FactKind::PacketQueued,
        names: &["net_dev_queue"],
        needs: &[],
        slots: PACKET,
    },
    Rule {
        kind: FactKind::PacketLooped,
        names: &["net_if_rx", "netif_rx"],
        needs: &[],
        slots: PACKET,
    },
    Rule {
        kind: FactKind::PacketReceived,
        names: &["net_if_receive_skb", "netif_receive_skb"],
        needs: &[],
        slots: PACKET,
    },
    Rule {
        kind: FactKind::Fork,
        names: &["sched_process_fork"],
        needs: &["child_tid"],
        slots: &[
            &["parent_tid"],
            &["parent_pid"],
            &["child_tid"],
            &["child_pid"],
            &["child_comm"],
        ],
    },
    // ftrace calls threads pid here too and does not tell processes.
    Rule {
        kind: FactKind::Fork,
        names: &["sched_process_fork"],
        needs: &[],
        slots: &[&["parent_pid"], &[], &["child_pid"], &[], &["child_comm"]],
    },
    Rule {
        kind: FactKind::Exec,
        names: &["sched_process_exec"],
        needs: &[],
        slots: &[&["tid", "pid"], &["filename"]],
    },
    Rule {
        kind: FactKind::Exit,
        names: &["sched_process_exit"],
        needs: &[],
        slots: &[&["tid", "pid"], &["comm"]],
    },
    Rule {
        kind: FactKind::Free,
        names: &["sched_process_free"],
        needs: &[],
        slots: &[&["tid", "pid"]],
    },
    Rule {
        kind: FactKind::Signal,
        names: &["signal_generate"],
        needs: &[],
        slots: &[
            &["tid", "pid"],
            &["group"],
            &["sig"],
            &["code"],
            &["result"],
        ],
    },
    Rule {
        kind: FactKind::BlockIssue,
        names: &["block_rq_issue"],
        needs: &[],
        // Who issues it stands in LTTng's `tid`, beside which `rwbs` are bits; ftrace's are letters.
        slots: &[
            &["dev"],
            &["sector"],
            &["nr_sector"],
            &["rwbs"],
            &["tid"],
            &["common_pid"],
        ],
    },
    Rule {
        kind: FactKind::BlockInsert,
        names: &["block_rq_insert"],
        needs: &[],
        slots: &[
            &["dev"],
            &["sector"],
            &["nr_sector"],
            &["tid", "common_pid"],
        ],
    },
    Rule {
        kind: FactKind::BlockComplete,
        names: &["block_rq_complete"],
        needs: &[],
        slots: REQUEST,
    },
    // Older kernels call it by another name; still older ones do not say which request it is.
    Rule {
        kind: FactKind::UringSubmitted,
        names: &["io_uring_submit_req", "io_uring_submit_sqe"],
        needs: &["ctx", "req", "opcode"],
        slots: &[
            &["ctx"],
            &["req"],
            &["opcode"],
            &["flags"],
            &["tid", "common_pid"],
            &["pid"],
            &["user_data"],
        ],
    },
    Rule {
        kind: FactKind::UringFile,
        names: &["io_uring_file_get"],
        needs: &["ctx", "req", "fd"],
        slots: &[&["ctx"], &["req"], &["fd"]],
    },
    Rule {
        kind: FactKind::UringCompleted,
        names: &["io_uring_complete"],
        needs: &["ctx", "req", "res"],
        slots: &[&["ctx"], &["req"], &["res"], &["cflags"], &["user_data"]],
    },
    Rule {
        kind: FactKind::DumpBegin,
        names: &["lttng_statedump_start"],
        needs: &[],
        slots: &[],
    },
    Rule {
        kind: FactKind::DumpedThread,
        names: &["lttng_statedump_process_state"],
        needs: &[],
        slots: &[
            &["tid"],
            &["pid"],
            &["ppid"],
            &["name"],
            &["file_table_address"],
            &["vtid"],
            &["vpid"],
            &["ns_level"],
        ],
    },
    Rule {
        kind: FactKind::DumpedNumbers,
        names: &["lttng_statedump_process_pid_ns"],
        needs: &[],
        slots: &[&["tid"], &["vtid"], &["vpid"], &["ns_level"]],
    },
    Rule {
        kind: FactKind::DumpedDescriptor,
        names: &["lttng_statedump_file_descriptor"],
        needs: &[],
        slots: &[&["file_table_address"], &["pid"], &["fd"], &["filename"]],
    },
    Rule {
        kind: FactKind::DumpedDisk,
        names: &["lttng_statedump_block_device"],
        needs: &[],
        slots: &[&["dev"], &["diskname"]],
    },
    Rule {
        kind: FactKind::SpanStart,
        names: &[":start_span"],
        needs: SPAN_IDS,
        slots: SPAN,
    },
    Rule {
        kind: FactKind::SpanEnd,
        names: &[":end_span"],
        needs: SPAN_IDS,
        slots: SPAN,
    },
    Rule {
        kind: FactKind::SpanAttach,
        names: &[":attach"],
        needs: SPAN_IDS,
        slots: SPAN,
    },
    Rule {
        kind: FactKind::SpanDetach,
        names: &[":detach"],
        needs: SPAN_IDS,
        slots: SPAN,
    },
    Rule {
        kind: FactKind::StoreBatches,
        names: &["slowpath_redis:batches", "slowpath_redis:batch"],
        needs: &[],
        slots: STORE_BATCHES,
    },
    Rule {
        kind: FactKind::StoreCommandName,
        names: &["slowpath_redis:command_name"],
        needs: &["number", "command"],
        slots: STORE_COMMAND_NAME,
    },
    Rule {
        kind: FactKind::StoreClientAddress,
        names: &["slowpath_redis:client_address"],
        needs: &["client_id", "peer_address"],
        slots: STORE_ADDRESS,
    },
    Rule {
        kind: FactKind::StoreReadStart,
        names: &["slowpath_redis:start_read_client_query"],
        needs: &["client_id"],
        slots: STORE,
    },
    Rule {
        kind: FactKind::StoreReadEnd,
        names: &["slowpath_redis:end_read_client_query"],
        needs: &["client_id", "bytes"],
        slots: STORE_READ,
    },
    Rule {
        kind: FactKind::StoreCallStart,
        names: &["slowpath_redis:call_command_start"],
        needs: &["client_id", "command"],
        slots: STORE_CALL,
    },
    Rule {
        kind: FactKind::StoreCallEnd,
        names: &["slowpath_redis:call_command_end"],
        needs: &["client_id", "command"],
        slots: STORE_CALL,
    },
    Rule {
        kind: FactKind::StoreWriteStart,
        names: &["slowpath_redis:write_to_client_start"],
        needs: &["client_id"],
        slots: STORE,
    },
    Rule {
        kind: FactKind::StoreWriteEnd,
        names: &["slowpath_redis:write_to_client_end"],
        needs: &["client_id", "bytes"],
        slots: STORE_MOVED,
    },
    Rule {
        kind: FactKind::StoreTlsRead,
        names: &["slowpath_redis:ssl_read"],
        needs: &["fd", "asked", "got"],
        slots: STORE_TLS_READ,
    },
    Rule {
        kind: FactKind::StoreReadPostponed,
        names: &["slowpath_redis:read_postponed"],
        needs: &["client_id"],
        slots: STORE,
    },
    Rule {
        kind: FactKind::StoreClientFreed,
        names: &["slowpath_redis:free_client"],
        needs: &["client_id"],
        slots: STORE,
    },
    Rule {
        kind: FactKind::StoreUnwatched,
        names: &["slowpath_redis:delete_file_event"],
        needs: &["fd", "mask"],
        slots: STORE_UNWATCHED,
    },
    Rule {
        kind: FactKind::StoreCycleEnd,
        names: &["slowpath_redis:before_sleep_end"],
        needs: &[],
        slots: STORE,
    },
    Rule {
        kind: FactKind::StoreBusSent,
        names: &["slowpath_redis:cluster_send"],
        needs: &["type", "bytes"],
        slots: STORE_BUS,
    },
    Rule {
        kind: FactKind::StoreBusReceived,
        names: &["slowpath_redis:cluster_process_packet"],
        needs: &["type", "bytes"],
        slots: STORE_BUS,
    },
    Rule {
        kind: FactKind::StoreBroadcastStart,
        names: &["slowpath_redis:broadcast_start"],
        needs: &["type", "bytes"],
        slots: STORE_BUS,
    },
    Rule {
        kind: FactKind::StoreBroadcastEnd,
        names: &["slowpath_redis:broadcast_end"],
        needs: &["type", "bytes"],
        slots: STORE_BUS,
    },
    Rule {
        kind: FactKind::StoreBusAddress,
        names: &["slowpath_redis:bus_address"],
        needs: &["fd", "peer_address"],
        slots: STORE_ADDRESS,
    },
    Rule {
        kind: FactKind::StoreReplyQueued,
        names: &["slowpath_redis:insert_clientwrite_queue"],
        needs: &["client_id"],
        slots: STORE,
    },
    Rule {
        kind: FactKind::StoreEntered,
        names: &[
            "redis_read",
            ":redis_read",
            "redis_read_in_thread",
            ":redis_read_in_thread",
            "redis_call",
            ":redis_call",
            "redis_write",
            ":redis_write",
        ],
        needs: STORE_PROBE_NEEDS,
        slots: STORE_PROBE,
    },
    Rule {
        kind: FactKind::StoreReturned,
        names: &[
            "redis_read_return",
            ":redis_read_return",
            "redis_read_in_thread_return",
            ":redis_read_in_thread_return",
            "redis_call_return",
            ":redis_call_return",
            "redis_write_return",
            ":redis_write_return",
        ],
        needs: STORE_PROBE_NEEDS,
        slots: STORE_PROBE,
    },
    Rule {
        kind: FactKind::StoreClientMade,
        names: &["redis_client_made", ":redis_client_made"],
        needs: &["common_pid", "vpid", "client_id"],
        slots: STORE_PROBE,
    },
    Rule {
        kind: FactKind::StoreClientBlocked,
        names: &["redis_client_blocked", ":redis_client_blocked"],
        needs: &["common_pid", "vpid", "client_id"],
        slots: STORE_PROBE,
    },
    Rule {
        kind: FactKind::StoreClientReleased,
        names: &["redis_client_released", ":redis_client_released"],
        needs: &["common_pid", "vpid", "client_id"],
        slots: STORE_PROBE,
    },
    Rule {
        kind: FactKind::StoreSocket,
        names: &["print"],
        needs: &["common_pid", "buf"],
        slots: &[&["buf"]],
    },
    Rule {
        kind: FactKind::ServiceRequestSent,
        names: &["slowpath_node:http_client_request"],
        needs: SERVICE_NEEDS,
        slots: SERVICE_MESSAGE,
    },
    Rule {
        kind: FactKind::ServiceRequestReceived,
        names: &["slowpath_node:http_server_receive"],
        needs: SERVICE_NEEDS,
        slots: SERVICE_MESSAGE,
    },
    Rule {
        kind: FactKind::ServiceResponseSent,
        names: &["slowpath_node:http_server_response"],
        needs: SERVICE_NEEDS,
        slots: SERVICE_MESSAGE,
    },
    Rule {
        kind: FactKind::ServiceResponseReceived,
        names: &["slowpath_node:http_client_response"],
        needs: SERVICE_NEEDS,
        slots: SERVICE_MESSAGE,
    },
    Rule {
        kind: FactKind::ServiceCommand,
        names: &["slowpath_node:redis_command"],
        needs: SERVICE_NEEDS,
        slots: SERVICE_COMMAND,
    },
];

const WAKE: &[&[&str]] = &[&["tid", "pid"], &["comm"], &["target_cpu"]];
const TIMER: &[&[&str]] = &[&["hrtimer", "timer"]];
const TIMER_ENTRY: &[&[&str]] = &[&["hrtimer", "timer"], &["function"]];
const PACKET: &[&[&str]] = &[&["skbaddr"], &["name"]];
const SEGMENT_NEEDS: &[&str] = &["network_header.ipv4.transport_header.tcp.seq"];
const SEGMENT: &[&[&str]] = &[
    &["skbaddr"],
    &["name"],
    &["network_header.ipv4.saddr"],
    &["network_header.ipv4.daddr"],
    &["network_header.ipv4.transport_header.tcp.source_port"],
    &["network_header.ipv4.transport_header.tcp.dest_port"],
    &["network_header.ipv4.transport_header.tcp.seq"],
    &["network_header.ipv4.transport_header.tcp.ack_seq"],
    &["network_header.ipv4.transport_header.tcp.flags"],
    &["network_header.ipv6.transport_header.tcp.source_port"],
    &["network_header.ipv6.transport_header.tcp.dest_port"],
    &["network_header.ipv6.transport_header.tcp.seq"],
    &["network_header.ipv6.transport_header.tcp.ack_seq"],
    &["network_header.ipv6.transport_header.tcp.flags"],
];
const REQUEST: &[&[&str]] = &[&["dev"], &["sector"], &["nr_sector"]];
const SPAN_IDS: &[&str] = &["trace_id_high", "trace_id_low", "span_id"];
const SPAN: &[&[&str]] = &[
    &["trace_id_high"],
    &["trace_id_low"],
    &["span_id"],
    &["vtid"],
    &["vpid"],
];
/// Who tells it of which client, in all events of a data store: `store.rs` reads them.
macro_rules! store_slots {
    ($($more:expr),*) => {
        &[&["vpid"], &["vtid"], &["pid_ns"], &["fd"], &["client_id"], $($more),*]
    };
}
const STORE: &[&[&str]] = store_slots!();
const STORE_MOVED: &[&[&str]] = store_slots!(&["bytes"]);
const STORE_READ: &[&[&str]] = store_slots!(&["bytes"], &["memory"]);
const STORE_BUS: &[&[&str]] = store_slots!(&["type"], &["bytes"], &["payload"]);
const STORE_TLS_READ: &[&[&str]] = store_slots!(&["asked"], &["got"], &["pending"]);
const STORE_UNWATCHED: &[&[&str]] = store_slots!(&["mask"]);
const STORE_CALL: &[&[&str]] = store_slots!(&["command"]);
const STORE_COMMAND_NAME: &[&[&str]] = store_slots!(&["number"], &["command"]);
const STORE_ADDRESS: &[&[&str]] = store_slots!(
    &["peer_address"],
    &["peer_port"],
    &["own_address"],
    &["own_port"],
    &["bytes_before"],
    &["outgoing"]
);
/// Of the kernel's probes on its functions, whose numbers are `StoreFunction`'s.
const STORE_PROBE_NEEDS: &[&str] = &["common_pid", "vpid", "function"];
const STORE_PROBE: &[&[&str]] = &[
    &["vpid"],
    &["common_pid"],
    &["pid_ns"],
    &["fd"],
    &["client_id"],
    &["function"],
    &["command"],
];
/// What they are is in arrays: `store.rs`.
const STORE_BATCHES: &[&[&str]] = &[&["vpid"], &["vtid"], &["pid_ns"]];
const SERVICE_NEEDS: &[&str] = &["context", "connection", "number"];
/// Which work over which connection, in all events of a service: `service.rs` reads them.
macro_rules! service_slots {
    ($($more:expr),*) => {
        &[
            &["vpid"],
            &["vtid"],
            &["pid_ns"],
            &["context"],
            &["cause"],
            &["connection"],
            &["number"],
            &["local_address"],
            &["local_port"],
            &["remote_address"],
            &["remote_port"],
            $($more),*
        ]
    };
}
const SERVICE_MESSAGE: &[&[&str]] = service_slots!(
    &["version"],
    &["status"],
    &["sent"],
    &["received"],
    &["method"],
    &["path"]
);
const SERVICE_COMMAND: &[&[&str]] = service_slots!(&["offset"], &["bytes"], &["command"]);
