//! Coverage-guided fuzzing of the target `kallsyms`, which is described in src/lib.rs.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| slowpath_fuzz::run("kallsyms", input));
