//! A visitor that looks at nothing: walking is what is tested.

use slowpath_model::{DisplayBase, EnumerationValue, FieldVisitor};

pub(crate) struct Ignore;

impl FieldVisitor for Ignore {
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
}
