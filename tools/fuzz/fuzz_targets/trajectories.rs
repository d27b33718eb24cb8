//! The trajectory of a session that may have been cut or edited: read or refused, never a panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    match agent::read_trajectory(file.path()) {
        Ok(records) => {
            let _ = agent::atif(&records);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
