//! Keeps the first and the last bytes of a stream, and counts what is between them.
//!
//! Memory stays within the limit however much is written.

use std::collections::VecDeque;

use super::Captured;

/// A stream as it comes in.
#[derive(Debug)]
pub(super) struct StreamCapture {
    head_limit: usize,
    tail_limit: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl StreamCapture {
    /// Keeps at most `limit` bytes: the first half and the last half.
    pub(super) fn new(limit: u64) -> StreamCapture {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        StreamCapture {
            head_limit: limit - limit / 2,
            tail_limit: limit / 2,
            head: Vec::new(),
            tail: VecDeque::new(),
            dropped: 0,
        }
    }

    /// Takes the next bytes of the stream.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = self.head_limit - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let kept = &rest[rest.len().saturating_sub(self.tail_limit)..];
        let overflow = (self.tail.len() + kept.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..overflow);
        self.tail.extend(kept);
        self.dropped += (rest.len() - kept.len() + overflow) as u64;
    }

    /// Returns the captured bytes.
    pub(super) fn finish(self) -> Captured {
        let gap = self.head.len();
        let mut bytes = self.head;
        bytes.extend(self.tail);
        Captured { bytes, dropped: self.dropped, gap }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(limit: u64, chunks: &[&str], expected: &str) {
        let mut capture = StreamCapture::new(limit);
        for chunk in chunks {
            capture.push(chunk.as_bytes());
        }
        let captured = capture.finish();
        assert_eq!(captured.text(), expected, "{limit} {chunks:?}");
        assert!(captured.bytes.len() as u64 <= limit);
        let total: usize = chunks.iter().map(|chunk| chunk.len()).sum();
        assert_eq!(captured.bytes.len() as u64 + captured.dropped, total as u64);
    }

    #[test]
    fn keeps_both_ends() {
        check(6, &[], "");
        check(6, &["abcdef"], "abcdef");
        check(6, &["abc", "", "def"], "abcdef");
        check(6, &["abcdefg"], "abc\n[1 bytes dropped]\nefg");
        check(6, &["ab", "cdefgh", "ij"], "abc\n[4 bytes dropped]\nhij");
        check(6, &["a", "b", "c", "d", "e", "f", "g", "h"], "abc\n[2 bytes dropped]\nfgh");
        check(5, &["abcdefg"], "abc\n[2 bytes dropped]\nfg");
        check(0, &["abc"], "\n[3 bytes dropped]\n");
    }
}
