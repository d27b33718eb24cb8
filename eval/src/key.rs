//! The identity of a normalised line: a hash of its syntax tree.
//!
//! It hashes its input; `blocks` decides which parts belong to a line.

use std::hash::{Hash, Hasher};

/// Identity of a normalised line: equal keys mean equal syntax.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(u128);

/// The key of a value under a tag that tells kinds of lines apart.
pub fn digest(tag: &str, value: &impl Hash) -> Key {
    let mut sink = Sink(blake3::Hasher::new());
    tag.hash(&mut sink);
    value.hash(&mut sink);
    sink.key()
}

/// Takes the bytes that `Hash` feeds: derived implementations are free of prefixes, so equal bytes mean
/// equal values.
struct Sink(blake3::Hasher);

impl Sink {
    fn key(&self) -> Key {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&self.0.finalize().as_bytes()[..16]);
        Key(u128::from_le_bytes(bytes))
    }
}

impl Hasher for Sink {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}

/// The key of a sequence of texts.
pub fn of_texts<'a>(texts: impl Iterator<Item = &'a str>) -> Key {
    let mut sink = Sink(blake3::Hasher::new());
    for text in texts {
        sink.write(text.as_bytes());
        sink.write_u8(0xff);
    }
    sink.key()
}
