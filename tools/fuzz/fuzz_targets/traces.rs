//! The log of a tracer, which the traced program may have written itself: read or skipped, never a panic.
#![no_main]

use std::fs;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let directory = tempfile::tempdir().unwrap();
    // Two processes, the second in two parts.
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let names = ["00000000000000000001-1.000", "00000000000000000002-2.000"];
    fs::write(directory.path().join(names[0]), first).unwrap();
    fs::write(directory.path().join(names[1]), second).unwrap();
    fs::write(directory.path().join("00000000000000000002-2.001"), first).unwrap();
    let trace = tools::fuzzing::trace(directory.path()).unwrap();
    // What is read can be shown.
    assert!(!format!("{trace:?}").is_empty());
});
