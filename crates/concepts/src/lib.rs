//! Maps (tracer, schema) to kernel facts, once per schema.
