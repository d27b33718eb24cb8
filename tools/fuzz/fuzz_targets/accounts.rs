//! The account of a witness amid all that a program prints: no line that is not signed is believed.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let account = tools::fuzzing::account(&String::from_utf8_lossy(bytes));
    assert!(!account.complete && account.cases.is_empty() && account.events.is_empty());
});
