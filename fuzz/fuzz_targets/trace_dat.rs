//! Coverage-guided fuzzing of the target `trace_dat`, which is described in src/lib.rs.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| slowpath_fuzz::run("trace_dat", input));
