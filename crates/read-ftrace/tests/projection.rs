//! Whatever an analysis asks for, it gets what printing shows.

mod support;

use proptest::prelude::*;
use slowpath_model::{Event, EventClassId, FieldId, FieldKind, Projection, Scope, Slot};
use slowpath_read_ftrace::{FtraceTrace, ReadOptions};
use slowpath_source::Source;
use support::drawn_pages::DrawnFile;
use support::values::{Collect, Value};
use support::{drawn_pages::USUAL, fixture, raw_pages_folder, trace_dat};

fn traces() -> Vec<FtraceTrace> {
    let folder = FtraceTrace::from_folder(raw_pages_folder(), ReadOptions::default());
    let drawn = DrawnFile {
        machine: USUAL,
        compression: "zstd",
        clock: "mono",
        options: vec![],
        cpus: vec!["page 10\n+1 words some text\n+1 long 5 200\n+1 number 6"],
    };
    vec![
        folder.expect("a folder"),
        trace_dat(drawn.write()).expect("a file"),
        trace_dat(fixture("ftrace-trace-cmd/everyday-v7-zstd.dat")).expect("a file"),
        trace_dat(fixture("ftrace-trace-cmd/everyday-v6.dat")).expect("a file"),
    ]
}

/// Decodes with `choose(class, field)` and compares every slot of every event with a visit.
fn check(trace: &FtraceTrace, mut choose: impl FnMut() -> u8) {
    let schema = trace.schema();
    let mut projection = Projection::nothing(schema.event_classes.len());
    let mut wanted = vec![None; schema.event_classes.len()];
    for (id, class) in schema.classes() {
        if choose().is_multiple_of(4) {
            continue;
        }
        let mut fields: Vec<Option<FieldId>> = (0..class.fields.len() as u16)
            .map(|field| Some(FieldId(field)))
            .collect();
        for at in 0..fields.len() {
            match choose() % 8 {
                0 => fields[at] = None,
                1 => fields.swap(at, 0),
                _ => {}
            }
        }
        projection.want(id, fields.clone());
        wanted[id.index()] = Some(fields);
    }
    let decoder = trace.decoder(&projection);
    let everything = trace.decoder(&Projection::every_event(schema.event_classes.len()));
    for packet in trace.packets() {
        let mut expected = Vec::new();
        everything.decode(packet.id, &mut |event: &Event<'_>| {
            if wanted[event.class.index()].is_some() {
                expected.push((event.class, event.position, event.at));
            }
        });
        let mut seen = Vec::new();
        decoder.decode(packet.id, &mut |event: &Event<'_>| {
            seen.push((event.class, event.position, event.at));
            let fields = wanted[event.class.index()]
                .as_ref()
                .expect("a wanted class");
            let mut visited = Collect::default();
            trace.visit(packet.id, event.position, &mut visited);
            for (slot, field) in (0..).map(Slot).zip(fields) {
                match field {
                    Some(field) => check_slot(trace, event, slot, *field, &visited),
                    None => assert!(!event.has(slot) && event.unsigned(slot) == 0),
                }
            }
        });
        assert_eq!(seen, expected);
    }
}

fn check_slot(
    trace: &FtraceTrace,
    event: &Event<'_>,
    slot: Slot,
    field: FieldId,
    visited: &Collect,
) {
    let class = &trace.schema().event_classes[event.class.index()];
    let field = &class.fields[field.index()];
    if field.scope == Scope::EventHeader {
        assert!(event.has(slot));
        return;
    }
    let (name, element) = match field.name.rsplit_once('.') {
        Some((name, element)) => (name, element.parse::<usize>().ok()),
        None => (field.name.as_str(), None),
    };
    let mut all = visited.common.iter().chain(&visited.payload);
    let value = &all.find(|(of, _)| of == name).expect("a visited field").1;
    match (field.kind, value, element) {
        (FieldKind::Compound, _, _) | (_, Value::Nothing, _) => assert!(!event.has(slot)),
        (FieldKind::Signed, Value::Number(number, _), _) => {
            assert_eq!(i128::from(event.signed(slot)), *number)
        }
        (FieldKind::Unsigned, Value::Number(number, _), _) => {
            assert_eq!(i128::from(event.unsigned(slot)), *number)
        }
        (FieldKind::Signed, Value::Numbers(numbers), Some(at)) => {
            assert_eq!(i128::from(event.signed(slot)), numbers[at].0)
        }
        (FieldKind::Unsigned, Value::Numbers(numbers), Some(at)) => {
            assert_eq!(i128::from(event.unsigned(slot)), numbers[at].0)
        }
        (FieldKind::Text, Value::Text(text), _) => assert_eq!(event.text(slot), text),
        (FieldKind::Bytes, Value::Bytes(bytes), _) => assert_eq!(event.raw_bytes(slot), bytes),
        (FieldKind::Bytes, Value::Numbers(numbers), _) => {
            let bytes: Vec<u8> = numbers.iter().map(|(number, _)| *number as u8).collect();
            assert_eq!(event.raw_bytes(slot), bytes);
        }
        (kind, value, _) => panic!("{} of kind {kind:?} is {value:?}", field.name),
    }
}

#[test]
fn every_field_is_as_printed() {
    for trace in traces() {
        check(&trace, || 3);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_choice_is_as_printed(choices in prop::collection::vec(any::<u8>(), 1..64)) {
        let mut choices = choices.iter().copied().cycle();
        for trace in traces() {
            check(&trace, || choices.next().unwrap_or(0));
        }
    }
}

#[test]
fn unknown_packets_and_positions_do_no_harm() {
    for trace in traces() {
        let decoder = trace.decoder(&Projection::every_event(trace.schema().event_classes.len()));
        let none = decoder.decode(slowpath_model::PacketId(u32::MAX), &mut |event: &Event<
            '_,
        >| {
            panic!("{event:?}")
        });
        assert_eq!(none, []);
        for position in [0, 1, 4095, 4096, u64::from(u32::MAX), u64::MAX] {
            trace.visit(
                slowpath_model::PacketId(0),
                position,
                &mut Collect::default(),
            );
        }
        let beyond = vec![Some(FieldId(u16::MAX)); Projection::MAX_SLOTS];
        let mut projection = Projection::nothing(0);
        projection.want(EventClassId(0), beyond);
        trace
            .decoder(&projection)
            .decode(slowpath_model::PacketId(0), &mut |event: &Event<'_>| {
                assert_eq!(event.absent.count_ones() as usize, Projection::MAX_SLOTS)
            });
    }
}
