//! Writes results as tables: one summary, one file per format.
//!
//! Rates are averages over tasks, with intervals over tasks. Infrastructure failures, quarantined
//! and unfit tasks, and tasks whose reference differs from the suite's record are counted
//! separately. A missing value is shown as missing, never as 0.

mod csv;
mod json;
mod latex;
mod markdown;
mod summary;
mod tables;
mod text;

use serde::{Deserialize, Serialize};

pub use summary::{
    Comparison, Correlation, Figure, LengthRow, SuiteRow, Summary, TaskRow, compare, summarize,
};
pub use tables::{Align, Table, TableName};

/// The format of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Aligned columns.
    #[default]
    Text,
    /// Markdown tables.
    Markdown,
    /// Comma-separated values, each table below its name.
    Csv,
    /// JSON, with its version.
    Json,
    /// LaTeX tables, for the booktabs package.
    Latex,
}

/// Writes tables of any kind; JSON has them as lists of objects, by head.
pub fn write_tables(tables: &[Table], format: Format) -> String {
    match format {
        Format::Text => text::write(tables),
        Format::Markdown => markdown::write(tables),
        Format::Csv => csv::write(tables),
        Format::Latex => latex::write(tables),
        Format::Json => json::write_tables(tables),
    }
}

impl Summary {
    /// Writes the tables that say something of these; JSON always has everything.
    pub fn write(&self, format: Format, names: &[TableName]) -> String {
        let tables = || tables::tables(self, names);
        match format {
            Format::Text => text::write(&tables()),
            Format::Markdown => markdown::write(&tables()),
            Format::Csv => csv::write(&tables()),
            Format::Latex => latex::write(&tables()),
            Format::Json => json::write(self),
        }
    }

    /// The tables of these names that have a row.
    pub fn tables(&self, names: &[TableName]) -> Vec<Table> {
        tables::tables(self, names)
    }

    /// Writes what one wants to know at the end of a bench.
    pub fn to_string(&self, format: Format) -> String {
        self.write(format, &TableName::BRIEF)
    }
}
