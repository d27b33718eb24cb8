//! The statement that writes a data file of the repository, and the bytes that it may have.

/// A file of the repository that a gist has in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataFile {
    /// Relative to the repository.
    pub path: String,
    /// Its bytes.
    pub contents: Vec<u8>,
}

/// The name of the function that writes one file.
pub(crate) const WRITER: &str = "_data";

impl DataFile {
    /// Bytes of the largest file that a gist may have in it.
    pub const LIMIT: u64 = 8 << 10;

    /// The statement that writes the file.
    ///
    /// ```python
    /// _data(
    ///     "pkg/table.txt",
    ///     b"red=1\n"
    ///     b"blue=2\n",
    /// )
    /// ```
    pub fn render(&self) -> String {
        let mut text = format!("{WRITER}(\n    {},\n", quoted(&self.path));
        let parts: Vec<&[u8]> = self.contents.split_inclusive(|byte| *byte == b'\n').collect();
        if parts.is_empty() {
            text.push_str("    b\"\",\n");
        }
        for (at, part) in parts.iter().enumerate() {
            let comma = if at + 1 == parts.len() { "," } else { "" };
            text.push_str(
                &format!("    b\"{}\"{comma}\n", part.escape_ascii()).replace("\\'", "'"),
            );
        }
        text.push_str(")\n");
        text
    }

    /// Returns true if the file is one of the repository's as it is there, and no larger than allowed. `original` are
    /// the bytes of that path in the repository.
    pub fn check(&self, original: &[u8]) -> bool {
        self.contents == original && original.len() as u64 <= Self::LIMIT
    }
}

/// A text as Python writes it.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glue::Glue;

    #[test]
    fn what_is_rendered_is_read_again() {
        let contents: Vec<u8> = (0..=255).chain(*b"\nit's \"so\"\\\n\r\n").collect();
        for contents in [Vec::new(), b"red=1\n".to_vec(), contents] {
            let file = DataFile { path: "pkg/a \"b\".txt".to_owned(), contents };
            assert!(file.check(&file.contents) && !file.check(b"red=2\n"));
            let read = Glue::parse_text(&file.render()).unwrap();
            assert_eq!(read, Glue::Data(file));
        }
        assert_eq!(Glue::parse_text("_data(x, b\"\")\n"), None);
        assert_eq!(Glue::parse_text("data(\"a\", b\"\")\n"), None);
        let large = DataFile { path: "a".to_owned(), contents: vec![b'a'; 9 << 10] };
        assert!(!large.check(&large.contents));
    }
}
