//! What fields mean to the reader: TSDL says it by well-known names (CTF 1.8.3, §5 and §6), CTF 2
//! by roles, which count only in the part that they are for.

use super::Lowering;
use crate::layout::{ClockLayout, Role};
use crate::metadata::Fault;
use crate::metadata::draft::{DraftInteger, Language, Part};

impl Lowering<'_, '_> {
    /// The role of an integer called `name`.
    pub(super) fn integer_role(
        &mut self,
        at: usize,
        integer: &DraftInteger,
        name: &str,
    ) -> Result<Option<Role>, Fault> {
        if self.trace.language == Language::Json {
            return Ok(self.stated_role(&integer.roles, name));
        }
        let clock = self.clock_of(at, integer, name)?;
        if self.part != Part::PacketHeader && self.stream_clock.is_none() {
            self.stream_clock = clock;
        } else if clock.is_some() && clock != self.stream_clock {
            self.notes.add(at, || {
                "the stream's fields are mapped to several clocks; the first one counts".to_owned()
            });
        }
        let outermost = self.frames.len() == 1 && self.via.is_empty();
        Ok(match (self.part, name) {
            (Part::EventHeader, "id") => Some(Role::EventClassId),
            (Part::EventHeader, _) if clock.is_some() => Some(Role::ClockTimestamp),
            (Part::PacketHeader, _) if outermost => match name {
                "magic" => Some(Role::PacketMagic),
                "stream_id" => Some(Role::StreamClassId),
                "stream_instance_id" => Some(Role::StreamId),
                _ => None,
            },
            (Part::PacketContext, _) if outermost => match name {
                "packet_size" => Some(Role::PacketTotalLength),
                "content_size" => Some(Role::PacketContentLength),
                "timestamp_begin" => Some(Role::ClockTimestamp),
                "timestamp_end" => Some(Role::PacketEndTimestamp),
                "events_discarded" => Some(Role::DiscardedEventCounter),
                "packet_seq_num" => Some(Role::PacketSequenceNumber),
                "cpu_id" => Some(Role::CpuId),
                _ => None,
            },
            _ => None,
        })
    }

    /// The role of an array called `name`.
    pub(super) fn array_role(&self, name: &str) -> Option<Role> {
        let is_uuid = self.trace.language == Language::Tsdl
            && self.part == Part::PacketHeader
            && self.frames.len() == 1
            && self.via.is_empty()
            && name == "uuid";
        is_uuid.then_some(Role::MetadataStreamUuid)
    }

    /// The first of the stated roles that counts in the part at hand.
    pub(super) fn stated_role(&self, roles: &[Role], name: &str) -> Option<Role> {
        let counts = |role: &Role| match role {
            Role::PacketMagic | Role::MetadataStreamUuid | Role::StreamClassId | Role::StreamId => {
                self.part == Part::PacketHeader
            }
            Role::PacketTotalLength
            | Role::PacketContentLength
            | Role::PacketEndTimestamp
            | Role::DiscardedEventCounter
            | Role::PacketSequenceNumber
            | Role::CpuId => self.part == Part::PacketContext,
            Role::ClockTimestamp => matches!(self.part, Part::PacketContext | Part::EventHeader),
            Role::EventClassId => self.part == Part::EventHeader,
        };
        // CTF 2 has no role for it; tracers go on using the name.
        let is_cpu = self.part == Part::PacketContext && self.frames.len() == 1 && name == "cpu_id";
        roles
            .iter()
            .copied()
            .find(counts)
            .or(is_cpu.then_some(Role::CpuId))
    }

    /// The clock that an integer is mapped to, by its type or (LTTng 2.0) by its name.
    fn clock_of(
        &mut self,
        at: usize,
        integer: &DraftInteger,
        name: &str,
    ) -> Result<Option<usize>, Fault> {
        if let Some(clock) = &integer.clock {
            let position = self.clock_positions.get(clock.as_str());
            return position.copied().map(Some).ok_or_else(|| {
                Fault::new(
                    at,
                    format!("the integer is mapped to the clock `{clock}`, which is not described"),
                )
            });
        }
        let by_name = matches!(
            (self.part, name),
            (Part::EventHeader, "timestamp")
                | (Part::PacketContext, "timestamp_begin" | "timestamp_end")
        );
        if !by_name {
            return Ok(None);
        }
        if self.clocks.is_empty() {
            self.clocks.push(implicit_clock());
        }
        if self.clocks.len() > 1 && self.stream_clock.is_none() {
            self.notes.add(at, || {
                format!("`{name}` is mapped to none of several clocks; the first one counts")
            });
        }
        Ok(self.stream_clock.or(Some(0)))
    }
}

/// The clock of a trace that has time stamps but describes no clock: nanoseconds.
fn implicit_clock() -> ClockLayout {
    ClockLayout {
        name: "default".to_owned(),
        frequency: 1_000_000_000,
        offset_seconds: 0,
        offset_cycles: 0,
        origin_is_epoch: false,
        absolute: false,
        precision: 1,
        uuid: None,
        description: String::new(),
    }
}
