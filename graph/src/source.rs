//! The text of a Python file as Python itself would read it: decoded by PEP 263, with its lines.
//!
//! Knows nothing of syntax. A file that cannot be decoded is a typed result, never a panic.

use ruff_source_file::LineIndex;
use ruff_text_size::{Ranged, TextRange, TextSize};

/// A decoded Python file.
#[derive(Debug, Clone)]
pub struct Source {
    path: String,
    text: String,
    lines: LineIndex,
}

/// Why bytes are no Python source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The cookie names a codec that this program does not know.
    #[error("decode {path}: unknown encoding {encoding}")]
    UnknownEncoding {
        /// The file.
        path: String,
        /// The encoding that the cookie declares.
        encoding: String,
    },
    /// The bytes are not valid in the declared encoding.
    #[error("decode {path}: invalid {encoding}")]
    Undecodable {
        /// The file.
        path: String,
        /// The encoding that was tried.
        encoding: String,
    },
    /// Python refuses null bytes in source.
    #[error("decode {path}: contains a null byte")]
    NullByte {
        /// The file.
        path: String,
    },
    /// Offsets are 32 bits wide.
    #[error("decode {path}: larger than 4 GiB")]
    TooLarge {
        /// The file.
        path: String,
    },
}

impl Source {
    /// Decodes a file's bytes by PEP 263: a byte-order mark, else a cookie in the first two lines,
    /// else UTF-8. The mark itself is dropped, as Python drops it.
    ///
    /// # Errors
    /// See [`SourceError`].
    pub fn decode(path: impl Into<String>, bytes: &[u8]) -> Result<Self, SourceError> {
        let path = path.into();
        Self::text_of(&path, bytes).map(|text| Self::new(path, text))
    }

    /// The text alone, for those who need no lines.
    pub(crate) fn text_of(path: &str, bytes: &[u8]) -> Result<String, SourceError> {
        let path = path.to_owned();
        if u32::try_from(bytes.len()).is_err() {
            return Err(SourceError::TooLarge { path });
        }
        if bytes.contains(&0) {
            return Err(SourceError::NullByte { path });
        }
        let (bytes, marked) = match bytes.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) => (rest, true),
            None => (bytes, false),
        };
        let cookie = if marked { None } else { declared_encoding(bytes) };
        let encoding = cookie.unwrap_or_else(|| "utf-8".to_owned());
        match decode(bytes, &encoding) {
            Decoded::Text(text) => Ok(text),
            Decoded::Invalid => Err(SourceError::Undecodable { path, encoding }),
            Decoded::Unknown => Err(SourceError::UnknownEncoding { path, encoding }),
        }
    }

    /// A source whose text is already at hand.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let lines = LineIndex::from_source_text(&text);
        Self { path: path.into(), text, lines }
    }

    /// The path it was read from, relative to the repository.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of a node or range.
    pub fn slice(&self, node: impl Ranged) -> &str {
        &self.text[node.range()]
    }

    /// 1-based line of an offset.
    pub fn line(&self, offset: TextSize) -> u32 {
        u32::try_from(self.lines.line_index(offset).get()).unwrap_or(u32::MAX)
    }

    /// First and last 1-based line of a range.
    pub fn line_span(&self, range: TextRange) -> (u32, u32) {
        let end = if range.is_empty() { range.end() } else { range.end() - TextSize::from(1) };
        (self.line(range.start()), self.line(end))
    }

    /// Offset at which a 1-based line starts; the end of the text for a line past the last.
    pub fn line_start(&self, line: u32) -> TextSize {
        let starts = self.lines.line_starts();
        let at = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        starts.get(at).copied().unwrap_or_else(|| TextSize::of(self.text.as_str()))
    }

    /// Number of lines, a last one without a newline included.
    pub fn line_count(&self) -> u32 {
        u32::try_from(self.lines.line_count()).unwrap_or(u32::MAX)
    }
}

enum Decoded {
    Text(String),
    Invalid,
    Unknown,
}

fn decode(bytes: &[u8], encoding: &str) -> Decoded {
    let name = encoding.to_ascii_lowercase().replace('_', "-");
    match name.as_str() {
        "utf-8" | "utf8" | "utf-8-sig" | "u8" | "utf" | "cp65001" => {
            String::from_utf8(bytes.to_vec()).map_or(Decoded::Invalid, Decoded::Text)
        }
        "ascii" | "us-ascii" | "646" => {
            if bytes.is_ascii() {
                String::from_utf8(bytes.to_vec()).map_or(Decoded::Invalid, Decoded::Text)
            } else {
                Decoded::Invalid
            }
        }
        // Python's latin-1 maps each byte to the code point of the same number, which the web's
        // label of that name does not.
        "latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "l1" | "8859" | "cp819" => {
            Decoded::Text(bytes.iter().map(|&byte| char::from(byte)).collect())
        }
        _ => match encoding_rs::Encoding::for_label(name.as_bytes()) {
            None => Decoded::Unknown,
            Some(codec) => match codec.decode_without_bom_handling_and_without_replacement(bytes) {
                Some(text) => Decoded::Text(text.into_owned()),
                None => Decoded::Invalid,
            },
        },
    }
}

/// Returns the encoding that a comment in one of the first two lines of a file declares (PEP 263):
/// `# -*- coding: latin-1 -*-`, but also `# LookupError: unknown encoding: acsii`.
pub fn declared_encoding(bytes: &[u8]) -> Option<String> {
    for line in bytes.split(|&byte| byte == b'\n' || byte == b'\r').take(2) {
        let text = String::from_utf8_lossy(line);
        let trimmed = text.trim_start_matches([' ', '\t', '\x0c']);
        let Some(comment) = trimmed.strip_prefix('#') else {
            if trimmed.is_empty() {
                continue;
            }
            return None;
        };
        let declared = comment.match_indices("coding").find_map(|(at, word)| {
            let rest = comment[at + word.len()..].strip_prefix([':', '='])?;
            let rest = rest.trim_start_matches([' ', '\t']);
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)));
            let name = &rest[..end.unwrap_or(rest.len())];
            (!name.is_empty()).then(|| name.to_owned())
        });
        if declared.is_some() {
            return declared;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: Result<&str, &str>) {
        let decoded = Source::decode("f.py", bytes);
        match (&decoded, expected) {
            (Ok(source), Ok(text)) => assert_eq!(source.text(), text),
            (Err(error), Err(message)) => assert_eq!(error.to_string(), message),
            _ => panic!("{decoded:?} is not {expected:?}"),
        }
    }

    #[test]
    fn encodings_are_those_of_pep_263() {
        check(b"x = 1\n", Ok("x = 1\n"));
        check(b"\xef\xbb\xbfx = 1\n", Ok("x = 1\n"));
        check(b"# -*- coding: latin-1 -*-\n'\xe9'\n", Ok("# -*- coding: latin-1 -*-\n'\u{e9}'\n"));
        check(b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n'\x80'", {
            Ok("#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n'\u{20ac}'")
        });
        check(b"x = 1\n# coding: latin-1\n'\xe9'\n", Err("decode f.py: invalid utf-8"));
        check(b"# no coding, but encoding: latin-1\n'\xe9'\n", {
            Ok("# no coding, but encoding: latin-1\n'\u{e9}'\n")
        });
        check(b"# coding: utf-7\n", Err("decode f.py: unknown encoding utf-7"));
        check(b"# coding: nonsense\n", Err("decode f.py: unknown encoding nonsense"));
        check(b"x = '\0'\n", Err("decode f.py: contains a null byte"));
    }

    #[test]
    fn lines_end_as_python_ends_them() {
        let source = Source::new("f.py", "a\rb\r\nc\x0c\nd");
        let lines: Vec<u32> = ["a", "b", "c", "d"]
            .iter()
            .map(|name| {
                let at = source.text().find(name).unwrap();
                source.line(TextSize::try_from(at).unwrap())
            })
            .collect();
        assert_eq!(lines, [1, 2, 3, 4]);
        assert_eq!(source.line_count(), 4);
    }
}
