//! The kinds of fact: what an analysis asks for. What each says is with the facts (`fact.rs`), which events they are
//! with the rules (`rules.rs`).

#[cfg(doc)]
use crate::Fact;

/// The kinds of fact, to ask for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FactKind {
    /// [`Fact::Switch`]
    Switch,
    /// [`Fact::SwitchPriorities`]
    SwitchPriorities,
    /// [`Fact::Waking`]
    Waking,
    /// [`Fact::Wakeup`] of a thread that existed before
    Wakeup,
    /// [`Fact::Wakeup`] of a new thread
    WakeupNew,
    /// [`Fact::Migrate`]
    Migrate,
    /// [`Fact::IrqEntry`]
    IrqEntry,
    /// [`Fact::IrqExit`]
    IrqExit,
    /// [`Fact::SoftirqRaise`]
    SoftirqRaise,
    /// [`Fact::SoftirqEntry`]
    SoftirqEntry,
    /// [`Fact::SoftirqExit`]
    SoftirqExit,
    /// [`Fact::TimerEntry`]
    TimerEntry,
    /// [`Fact::TimerExit`]
    TimerExit,
    /// [`Fact::LocalTimerEntry`]
    LocalTimerEntry,
    /// [`Fact::LocalTimerExit`]
    LocalTimerExit,
    /// [`Fact::IpiEntry`]
    IpiEntry,
    /// [`Fact::IpiExit`]
    IpiExit,
    /// [`Fact::PacketQueued`]
    PacketQueued,
    /// [`Fact::PacketLooped`]
    PacketLooped,
    /// [`Fact::PacketReceived`]
    PacketReceived,
    /// [`Fact::PacketQueued`] with its TCP header, from tracers that record headers
    SegmentQueued,
    /// [`Fact::PacketReceived`] with its TCP header, from tracers that record headers
    SegmentReceived,
    /// [`Fact::SyscallEntry`]
    SyscallEntry,
    /// [`Fact::SyscallExit`]
    SyscallExit,
    /// [`Fact::Fork`]
    Fork,
    /// [`Fact::Exec`]
    Exec,
    /// [`Fact::Exit`]
    Exit,
    /// [`Fact::Free`]
    Free,
    /// [`Fact::Signal`]
    Signal,
    /// [`Fact::BlockInsert`]
    BlockInsert,
    /// [`Fact::BlockIssue`]
    BlockIssue,
    /// [`Fact::BlockComplete`]
    BlockComplete,
    /// [`Fact::UringSubmitted`]
    UringSubmitted,
    /// [`Fact::UringFile`]
    UringFile,
    /// [`Fact::UringCompleted`]
    UringCompleted,
    /// [`Fact::DumpBegin`]
    DumpBegin,
    /// [`Fact::DumpedThread`]
    DumpedThread,
    /// [`Fact::DumpedNumbers`]
    DumpedNumbers,
    /// [`Fact::DumpedDescriptor`]
    DumpedDescriptor,
    /// [`Fact::DumpedDisk`]
    DumpedDisk,
    /// [`Fact::SpanStart`]
    SpanStart,
    /// [`Fact::SpanEnd`]
    SpanEnd,
    /// [`Fact::SpanAttach`]
    SpanAttach,
    /// [`Fact::SpanDetach`]
    SpanDetach,
    /// [`Fact::StoreBatches`]
    StoreBatches,
    /// [`Fact::StoreCommandName`]
    StoreCommandName,
    /// [`Fact::StoreClientAddress`]
    StoreClientAddress,
    /// [`Fact::StoreReadStart`]
    StoreReadStart,
    /// [`Fact::StoreReadEnd`]
    StoreReadEnd,
    /// [`Fact::StoreCallStart`]
    StoreCallStart,
    /// [`Fact::StoreCallEnd`]
    StoreCallEnd,
    /// [`Fact::StoreWriteStart`]
    StoreWriteStart,
    /// [`Fact::StoreWriteEnd`]
    StoreWriteEnd,
    /// [`Fact::StoreBus`]: a message goes out to one node
    StoreBusSent,
    /// [`Fact::StoreBus`]: a message has come in
    StoreBusReceived,
    /// [`Fact::StoreBus`]: a message begins to go out to all nodes
    StoreBroadcastStart,
    /// [`Fact::StoreBus`]: a message went out to all nodes
    StoreBroadcastEnd,
    /// [`Fact::StoreBusAddress`]
    StoreBusAddress,
    /// [`Fact::StoreReplyQueued`]
    StoreReplyQueued,
    /// [`Fact::StoreOperation`]: OpenSSL was asked for what a client sent
    StoreTlsRead,
    /// [`Fact::StoreOperation`]: reading was left to other threads
    StoreReadPostponed,
    /// [`Fact::StoreOperation`]: a client is freed
    StoreClientFreed,
    /// [`Fact::StoreOperation`]: a descriptor is watched no more, or for less
    StoreUnwatched,
    /// [`Fact::StoreOperation`]: the event loop is about to wait
    StoreCycleEnd,
    /// [`Fact::StoreProbe`]: a thread enters a function
    StoreEntered,
    /// [`Fact::StoreProbe`]: a thread returns from one
    StoreReturned,
    /// [`Fact::StoreProbe`]: a client was made
    StoreClientMade,
    /// [`Fact::StoreProbe`]: a command blocks its client
    StoreClientBlocked,
    /// [`Fact::StoreProbe`]: a blocked command is over
    StoreClientReleased,
    /// [`Fact::StoreProbe`]: whose connection a descriptor is
    StoreSocket,
    /// [`Fact::ServiceMessage`]: a request was sent
    ServiceRequestSent,
    /// [`Fact::ServiceMessage`]: a request was received
    ServiceRequestReceived,
    /// [`Fact::ServiceMessage`]: a response was sent
    ServiceResponseSent,
    /// [`Fact::ServiceMessage`]: a response was received
    ServiceResponseReceived,
    /// [`Fact::ServiceCommand`]
    ServiceCommand,
}
