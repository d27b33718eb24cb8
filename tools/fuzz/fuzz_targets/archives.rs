//! Archives of packages: unpacked or refused, never a panic, and nothing is written beside the place.
#![no_main]

use std::fs;

use tools::{UnpackLimits, unpack};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let outer = tempfile::tempdir().unwrap();
    // The first byte chooses the form, which the name tells.
    let Some((form, bytes)) = bytes.split_first() else { return };
    let name = ["a.tar", "a.tar.gz", "a.zip", "a.whl"][usize::from(form % 4)];
    let archive = outer.path().join(name);
    fs::write(&archive, bytes).unwrap();
    let into = outer.path().join("into");
    fs::create_dir(&into).unwrap();
    let limits = UnpackLimits { bytes: 1 << 20, entries: 64, ..UnpackLimits::default() };
    let _ = unpack(&archive, &into, &limits);
    let beside = fs::read_dir(outer.path()).unwrap().count();
    assert_eq!(beside, 2);
});
