//! Counts o200k tokens of any text, however odd.

/// The tokenizer's pattern engine gives up on very long runs of one kind of character, so text goes to it
/// in pieces, cut where lines end.
const PIECE: usize = 16 << 10;

/// Number of o200k tokens. A text of several pieces may count a few tokens more than one whole.
pub fn count(text: &str) -> u64 {
    let encoder = tiktoken_rs::o200k_base_singleton();
    pieces(text).map(|piece| encoder.encode_ordinary(piece).len() as u64).sum()
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut at = rest.len();
        if at > PIECE {
            let limit = rest.floor_char_boundary(PIECE);
            at = rest[..limit].rfind('\n').map_or(limit, |newline| newline + 1);
        }
        let (piece, tail) = rest.split_at(at);
        rest = tail;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_those_of_o200k() {
        assert_eq!(count(""), 0);
        assert_eq!(count("hello world"), 2);
        assert_eq!(count("def f(x):\n    return x\n"), 8);
    }

    #[test]
    fn a_million_spaces_are_counted() {
        assert!(count(&" ".repeat(1_000_000)) > 0);
        assert!(count(&"é".repeat(100_000)) > 0);
    }
}
