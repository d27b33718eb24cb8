//! Files that the user names as input: their text, JSON, TOML or rows. Each error names the path, the cause and the
//! remedy.

use std::{fs, path::Path};

use ::eval::{MalformedRow, json_fault};
use serde::de::DeserializeOwned;

use super::{Exit, Failure, progress::ProgressLine};

/// A file that the user names.
#[derive(Clone, Copy)]
pub struct InputFile<'a> {
    /// Its contents, in the plural: `rows`, `predictions`.
    pub what: &'a str,
    /// The path as it was given.
    pub path: &'a Path,
    /// The way to get such a file.
    pub hint: &'a str,
}

/// Malformed rows that are named; of the others the number is.
const SHOWN: usize = 5;

impl InputFile<'_> {
    /// Returns the text. Bytes that are no UTF-8 are errors.
    ///
    /// # Errors
    /// It is missing, unreadable, empty or no text.
    pub fn text(&self) -> Result<String, Failure> {
        let text = fs::read_to_string(self.path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => self.fault("there is no such file"),
            std::io::ErrorKind::IsADirectory => self.fault("it is a directory"),
            std::io::ErrorKind::InvalidData => self.fault("it is no text in UTF-8"),
            _ => self.fault(&error.to_string()),
        })?;
        match text.trim().is_empty() {
            true => Err(self.fault("it is empty")),
            false => Ok(text),
        }
    }

    /// Returns the value of a JSON file.
    ///
    /// # Errors
    /// As for [`text`](Self::text), or it is no such JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_str(&self.text()?).map_err(|error| self.fault(&json_fault(&error)))
    }

    /// Returns the value of a TOML file.
    ///
    /// # Errors
    /// As for [`text`](Self::text), or it is no such TOML.
    pub fn toml<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let text = self.text()?;
        toml::from_str(&text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = before.map(|before| before.matches('\n').count() + 1);
            let line = line.map_or_else(String::new, |line| format!(" (line {line})"));
            self.fault(&format!("{}{line}", error.message().replace('\n', " ")))
        })
    }

    /// Returns the rows of a file of one JSON object a line, and the lines that are none; `progress` names those.
    ///
    /// # Errors
    /// As for [`text`](Self::text), or no line is a row.
    pub fn rows<T>(
        &self,
        read: impl Fn(&str) -> (Vec<T>, Vec<MalformedRow>),
        progress: &ProgressLine,
    ) -> Result<(Vec<T>, Vec<MalformedRow>), Failure> {
        self.rows_of(&self.text()?, read, progress)
    }

    /// The same of a text that is not the file's own, such as one made of a directory.
    ///
    /// # Errors
    /// No line is a row.
    pub fn rows_of<T>(
        &self,
        text: &str,
        read: impl Fn(&str) -> (Vec<T>, Vec<MalformedRow>),
        progress: &ProgressLine,
    ) -> Result<(Vec<T>, Vec<MalformedRow>), Failure> {
        let (rows, malformed) = read(text);
        if let (true, Some(first)) = (rows.is_empty(), malformed.first()) {
            let why = match malformed.len() {
                1 => format!("line {}: {}", first.line, first.reason),
                all => format!("none of {all} lines fits; line {}: {}", first.line, first.reason),
            };
            return Err(self.fault(&why));
        }
        let path = self.path.display();
        for row in malformed.iter().take(SHOWN) {
            progress.line(&format!("{path}:{}: left out: {}", row.line, row.reason));
        }
        if let Some(more) = malformed.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            progress.line(&format!("{path}: {more} more lines left out"));
        }
        Ok((rows, malformed))
    }

    /// Returns the rows of a file each line of which is one.
    ///
    /// # Errors
    /// As for [`text`](Self::text), or a line is no row.
    pub fn all_rows<T>(
        &self,
        read: impl Fn(&str) -> (Vec<T>, Vec<MalformedRow>),
    ) -> Result<Vec<T>, Failure> {
        let (rows, malformed) = read(&self.text()?);
        match malformed.first() {
            None => Ok(rows),
            Some(row) => Err(self.fault(&format!("line {}: {}", row.line, row.reason))),
        }
    }

    /// The failure for a fault of the file.
    pub fn fault(&self, why: &str) -> Failure {
        let (what, path) = (self.what, self.path.display());
        let hint = match self.hint {
            "" => String::new(),
            hint => format!(" ({hint})"),
        };
        Failure::new(Exit::Input, format!("read {what} {path}: {why}{hint}"))
    }
}
