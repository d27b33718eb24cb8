//! The record of a run, which the program may have written itself: read or skipped, never a panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    tools::fuzzing::results(file.path()).unwrap();
});
