//! A visitor that looks at nothing: walking is what is tested.

use slowpath_model::{DisplayBase, EnumerationValue, FieldVisitor, Scope};

pub(crate) struct Ignore;

impl FieldVisitor for Ignore {
    fn scope(&mut self, _: Scope) {}
    fn end_scope(&mut self) {}
    fn name(&mut self, _: &str) {}
    fn unsigned(&mut self, _: u64, _: u32, _: DisplayBase) {}
    fn signed(&mut self, _: i64, _: u32, _: DisplayBase) {}
    fn boolean(&mut self, _: bool) {}
    fn enumeration(
        &mut self,
        _: EnumerationValue,
        _: u32,
        _: DisplayBase,
        labels: &mut dyn Iterator<Item = &str>,
    ) {
        labels.for_each(drop);
    }
    fn bit_array(&mut self, _: u64, _: u32, labels: &mut dyn Iterator<Item = &str>) {
        labels.for_each(drop);
    }
    fn float(&mut self, _: f64, _: bool) {}
    fn text(&mut self, _: &[u8]) {}
    fn blob(&mut self, _: &[u8]) {}
    fn begin_structure(&mut self) {}
    fn end_structure(&mut self) {}
    fn begin_array(&mut self, _: u64, _: bool) {}
    fn end_array(&mut self) {}
    fn begin_variant(&mut self, _: &str) {}
    fn end_variant(&mut self) {}
    fn nothing(&mut self) {}
}
