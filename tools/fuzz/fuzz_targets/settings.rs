//! Settings of a file and of `--set`: taken or refused with a message, never a panic.
#![no_main]

use agent::Config;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let mut config = Config::defaults();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let mut failures = vec![config.file(file.path()).err()];
    failures.extend(text.lines().take(8).map(|line| config.set(line).err()));
    failures.push(config.settings().err());
    for failure in failures.into_iter().flatten() {
        assert!(!failure.to_string().is_empty());
    }
});
