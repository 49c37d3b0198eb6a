//! Every event of a trace as plain values, got by visiting.

use slowpath_model::{
    Diagnostic, DisplayBase, EnumerationValue, Event, FieldVisitor, Projection, Scope,
};
use slowpath_source::Source;

/// One field's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number and its bits.
    Number(i128, u32),
    Text(Vec<u8>),
    Bytes(Vec<u8>),
    Numbers(Vec<(i128, u32)>),
    Nothing,
}

/// One event with every field.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub at_ns: i64,
    pub cpu: u32,
    pub name: String,
    pub common: Vec<(String, Value)>,
    pub payload: Vec<(String, Value)>,
}

impl Seen {
    pub fn number(&self, name: &str) -> i128 {
        let all = self.payload.iter().chain(&self.common);
        match all.clone().find(|(of, _)| of == name) {
            Some((_, Value::Number(number, _))) => *number,
            other => panic!("{name} of {self:?} is {other:?}"),
        }
    }
}

/// Every event of every packet, packets in their order, and what decoding found wrong.
pub fn all_events(source: &dyn Source) -> (Vec<Seen>, Vec<Diagnostic>) {
    let schema = source.schema();
    let decoder = source.decoder(&Projection::every_event(schema.event_classes.len()));
    let (mut events, mut diagnostics) = (Vec::new(), Vec::new());
    for packet in source.packets() {
        let mut sink = |event: &Event<'_>| {
            let mut visitor = Collect::default();
            source.visit(packet.id, event.position, &mut visitor);
            events.push(Seen {
                at_ns: event.at.ns(),
                cpu: packet.cpu.expect("a processor").0,
                name: schema.event_classes[event.class.index()].name.clone(),
                common: visitor.common,
                payload: visitor.payload,
            });
        };
        diagnostics.extend(decoder.decode(packet.id, &mut sink));
    }
    (events, diagnostics)
}

/// The fields of one event by scope.
#[derive(Default)]
pub struct Collect {
    pub common: Vec<(String, Value)>,
    pub payload: Vec<(String, Value)>,
    scope: Option<Scope>,
    name: String,
    array: Option<Vec<(i128, u32)>>,
}

impl Collect {
    fn add(&mut self, value: Value) {
        let fields = match self.scope.expect("a scope") {
            Scope::Payload => &mut self.payload,
            Scope::CommonContext => &mut self.common,
            _ => return,
        };
        fields.push((self.name.clone(), value));
    }

    fn number(&mut self, value: i128, bits: u32) {
        match &mut self.array {
            Some(array) => array.push((value, bits)),
            None => self.add(Value::Number(value, bits)),
        }
    }
}

impl FieldVisitor for Collect {
    fn scope(&mut self, scope: Scope) {
        self.scope = Some(scope);
    }
    fn end_scope(&mut self) {
        self.scope = None;
    }
    fn name(&mut self, name: &str) {
        self.name = name.to_owned();
    }
    fn unsigned(&mut self, value: u64, bits: u32, _base: DisplayBase) {
        self.number(value.into(), bits);
    }
    fn signed(&mut self, value: i64, bits: u32, _base: DisplayBase) {
        self.number(value.into(), bits);
    }
    fn text(&mut self, value: &[u8]) {
        self.add(Value::Text(value.to_vec()));
    }
    fn blob(&mut self, value: &[u8]) {
        self.add(Value::Bytes(value.to_vec()));
    }
    fn begin_array(&mut self, _length: u64, _dynamic: bool) {
        self.array = Some(Vec::new());
    }
    fn end_array(&mut self) {
        let array = self.array.take().expect("an array");
        self.add(Value::Numbers(array));
    }
    fn nothing(&mut self) {
        self.add(Value::Nothing);
    }
    fn boolean(&mut self, _: bool) {
        unreachable!("ftrace has no booleans");
    }
    fn enumeration(
        &mut self,
        _: EnumerationValue,
        _: u32,
        _: DisplayBase,
        _: &mut dyn Iterator<Item = &str>,
    ) {
        unreachable!("ftrace has no enumerations");
    }
    fn bit_array(&mut self, _: u64, _: u32, _: &mut dyn Iterator<Item = &str>) {
        unreachable!("ftrace has no bit arrays");
    }
    fn float(&mut self, _: f64, _: bool) {
        unreachable!("ftrace has no floating-point numbers");
    }
    fn begin_structure(&mut self) {
        unreachable!("ftrace has no structures");
    }
    fn end_structure(&mut self) {}
    fn begin_variant(&mut self, _: &str) {
        unreachable!("ftrace has no variants");
    }
    fn end_variant(&mut self) {}
}
