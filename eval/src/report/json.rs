//! JSON with a version, for programs.

use super::{Summary, Table};
use crate::store::{Record, VersionedRecord};

impl Record for Summary {
    const VERSION: u32 = 3;
}

/// Writes a summary.
pub fn write(summary: &Summary) -> String {
    let written = VersionedRecord::of(summary);
    let mut text = serde_json::to_string_pretty(&written).expect("names and numbers serialise");
    text.push('\n');
    text
}

/// Writes tables as one object: a list of rows by each table's name, cells by their heads.
pub fn write_tables(tables: &[Table]) -> String {
    let mut written = serde_json::Map::from_iter([("version".to_owned(), Summary::VERSION.into())]);
    for table in tables {
        let heads = table.names();
        let rows = table.rows.iter().map(|row| {
            let cells = heads.iter().cloned().zip(row.iter().map(|cell| cell.as_str().into()));
            serde_json::Value::Object(cells.collect())
        });
        written.insert(table.name.to_owned(), rows.collect());
    }
    let mut text = serde_json::to_string_pretty(&written).expect("texts serialise");
    text.push('\n');
    text
}
