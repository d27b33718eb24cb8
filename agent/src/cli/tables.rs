//! `gistify tables`: what a bench left in its directory, as tables.

use std::path::{Path, PathBuf};

use ::eval::{BenchPlan, Format, Index, Row, StoreError, TableName, summarize};
use clap::{Args, ValueEnum};

use super::{Exit, Failure, OrExit, progress::printable, surroundings::Surroundings};

#[derive(Debug, Args)]
pub struct Tables {
    /// The bench's directory.
    directory: PathBuf,
    /// Format of the tables.
    #[arg(long, value_enum, default_value = "text")]
    format: Style,
    /// Only this table; can be given more than once [default: all].
    #[arg(long = "table", value_name = "NAME", value_parser = table)]
    tables: Vec<TableName>,
}

/// The format of tables.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Style {
    /// For a terminal.
    Text,
    /// For a document.
    Markdown,
    /// For a spreadsheet.
    Csv,
    /// For a program.
    Json,
    /// For a paper.
    Latex,
}

impl Style {
    /// The format that is meant.
    pub fn format(self, around: &Surroundings) -> Format {
        match self {
            _ if around.json => Format::Json,
            Style::Text => Format::Text,
            Style::Markdown => Format::Markdown,
            Style::Csv => Format::Csv,
            Style::Json => Format::Json,
            Style::Latex => Format::Latex,
        }
    }
}

impl Tables {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let (rows, solvers) = rows(&self.directory)?;
        let names: Vec<&str> = solvers.iter().map(String::as_str).collect();
        let summary = summarize(&rows, &names);
        let tables = match self.tables.as_slice() {
            [] => &TableName::ALL[..],
            named => named,
        };
        print!("{}", summary.write(self.format.format(around), tables));
        Ok(Exit::Success)
    }
}

/// Returns the results of a bench so far, and its solvers in their order.
///
/// # Errors
/// The directory holds no bench.
pub fn rows(directory: &Path) -> Result<(Vec<Row>, Vec<String>), Failure> {
    let plan = BenchPlan::read(directory).or_exit(Exit::Input)?;
    let (index, unread) = Index::open(directory).or_exit(Exit::Infrastructure)?;
    say_left_out(&unread);
    Ok((index.rows().or_exit(Exit::Infrastructure)?, plan.solvers))
}

/// Names the results that do not count, on the error stream.
pub fn say_left_out(unread: &[StoreError]) {
    for error in unread {
        eprintln!("gistify: {} (it is left out)", printable(&error.to_string()));
    }
}

fn table(name: &str) -> Result<TableName, String> {
    TableName::ALL.into_iter().find(|table| table.name() == name).ok_or_else(|| {
        let names: Vec<&str> = TableName::ALL.iter().map(|table| table.name()).collect();
        format!("there are {}", names.join(", "))
    })
}
