//! Coverage-guided fuzzing of the target `packet_index`, which is described in src/lib.rs.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| slowpath_fuzz::run("packet_index", input));
