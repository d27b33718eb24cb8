//! Files of one JSON object a line: their rows, the lines that are none, and what is wrong with a JSON text in words.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::error::Category;

use crate::report::Table;

/// A line of a file that is none of its rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MalformedRow {
    /// Its 1-based number.
    pub line: usize,
    /// The reason.
    pub reason: String,
}

/// Reads rows, one JSON object a line or one array of them; empty lines are no rows. `fault` returns the reason why an
/// object is no row.
pub fn read_json_lines<T: DeserializeOwned>(
    text: &str,
    mut fault: impl FnMut(&T) -> Option<String>,
) -> (Vec<T>, Vec<MalformedRow>) {
    let read: Vec<(usize, Result<T, String>)> = match serde_json::from_str::<Vec<T>>(text) {
        Ok(all) => all.into_iter().enumerate().map(|(at, row)| (at + 1, Ok(row))).collect(),
        Err(_) => (1..)
            .zip(text.lines())
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(at, line)| (at, serde_json::from_str(line).map_err(|error| row_fault(&error))))
            .collect(),
    };
    let (mut rows, mut malformed) = (Vec::new(), Vec::new());
    for (line, row) in read {
        let row = row.and_then(|row| match fault(&row) {
            Some(reason) => Err(reason),
            None => Ok(row),
        });
        match row {
            Ok(row) => rows.push(row),
            Err(reason) => malformed.push(MalformedRow { line, reason }),
        }
    }
    (rows, malformed)
}

/// The table of lines that are no rows, by file.
pub(crate) fn malformed_table(malformed: &[(String, Vec<MalformedRow>)]) -> Table {
    let rows = malformed.iter().flat_map(|(file, rows)| {
        rows.iter().map(move |row| vec![file.clone(), row.reason.clone(), row.line.to_string()])
    });
    Table::named(
        "malformed",
        "Lines that are no rows",
        &["file", "reason"],
        &["line"],
        rows.collect(),
    )
}

/// Returns what is wrong with the JSON text of a file, with its position there.
pub fn json_fault(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    match error.classify() {
        Category::Syntax => format!("it is no JSON (line {line}, column {column})"),
        Category::Eof => format!("its JSON is cut off (line {line}, column {column})"),
        Category::Data if line > 0 => format!("{} (line {line})", reason_of(error)),
        Category::Data | Category::Io => reason_of(error),
    }
}

/// Returns what is wrong with a row; its line is the caller's to name.
fn row_fault(error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Syntax => format!("it is no JSON (column {})", error.column()),
        Category::Eof => "its JSON is cut off".to_owned(),
        Category::Data | Category::Io => reason_of(error),
    }
}

/// The message of an error without its position, and with words for the types of numbers: `expected a number`.
fn reason_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&place).unwrap_or(&text);
    match text.rsplit_once(", expected ") {
        Some((cause, "f64")) => format!("{cause}, expected a number"),
        Some((cause, "u32" | "u64" | "usize")) => format!("{cause}, expected a whole number"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Named {
        name: String,
        #[serde(default)]
        stars: f64,
    }

    #[test]
    fn faults_of_json_are_told_in_words() {
        for (text, of_file, of_row) in [
            ("hello", "it is no JSON (line 1, column 1)", "it is no JSON (column 1)"),
            ("{\n", "its JSON is cut off (line 2, column 0)", "its JSON is cut off"),
            ("{}", "missing field `name` (line 1)", "missing field `name`"),
            (
                "{\"name\": \"a\", \"stars\": \"x\"}",
                "invalid type: string \"x\", expected a number (line 1)",
                "invalid type: string \"x\", expected a number",
            ),
        ] {
            let error = serde_json::from_str::<Named>(text).unwrap_err();
            assert_eq!(json_fault(&error), of_file, "{text}: {error}");
            assert_eq!(row_fault(&error), of_row, "{text}: {error}");
        }
    }

    #[test]
    fn rows_are_lines_or_one_array() {
        let named = |name: &str| Named { name: name.to_owned(), stars: 0.0 };
        let no_b = |row: &Named| (row.name == "b").then(|| "b is no name".to_owned());
        let (rows, malformed) = read_json_lines("{\"name\":\"a\"}\n\nx\n{\"name\":\"b\"}\n", no_b);
        assert_eq!(rows, [named("a")]);
        let lines: Vec<usize> = malformed.iter().map(|row| row.line).collect();
        assert_eq!(lines, [3, 4]);
        assert_eq!(malformed[1].reason, "b is no name");
        let (rows, malformed) = read_json_lines("[{\"name\":\"a\"},\n {\"name\":\"c\"}]", no_b);
        assert_eq!((rows, malformed), (vec![named("a"), named("c")], Vec::new()));
    }
}
