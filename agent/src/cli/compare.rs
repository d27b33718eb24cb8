//! `gistify compare`: two benches, or two solvers of one, on the tasks that they share.

use std::path::PathBuf;

use ::eval::{Format, Row, Summary, TableName, compare};
use clap::Args;

use super::{
    Exit, Failure,
    surroundings::Surroundings,
    tables::{Style, rows},
};

#[derive(Debug, Args)]
pub struct Compare {
    /// The directory of a bench.
    first: PathBuf,
    /// That of the one to be compared with it; the same one for two solvers of one bench.
    second: PathBuf,
    /// Solver of the first bench [default: its only one].
    #[arg(long, value_name = "NAME")]
    solver: Option<String>,
    /// Solver of the second bench [default: its only one].
    #[arg(long, value_name = "NAME")]
    against: Option<String>,
    /// Format of the table.
    #[arg(long, value_enum, default_value = "text")]
    format: Style,
}

impl Compare {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let (a, of_a) = rows(&self.first)?;
        let (b, of_b) = rows(&self.second)?;
        let first = chosen(self.solver.as_deref(), &of_a, "--solver")?;
        let second = chosen(self.against.as_deref(), &of_b, "--against")?;
        let names = match first == second {
            true => (self.first.display().to_string(), self.second.display().to_string()),
            false => (first.clone(), second.clone()),
        };
        let comparisons = compare((&a, &first), (&b, &second), (&names.0, &names.1));
        if comparisons.is_empty() {
            let message = "the two have no task with scores of both";
            return Err(Failure::new(Exit::Input, message));
        }
        let summary = Summary { comparisons, ..Summary::default() };
        let format = self.format.format(around);
        print!("{}", summary.write(format, &[TableName::Comparison]));
        if format == Format::Text {
            for (task, was, is) in changed(&a, &first, &b, &second) {
                println!("{task}: {was} to {is}");
            }
        }
        Ok(Exit::Success)
    }
}

fn chosen(asked: Option<&str>, solvers: &[String], flag: &str) -> Result<String, Failure> {
    let names = || solvers.join(", ");
    match (asked, solvers) {
        (Some(name), all) if all.iter().any(|solver| solver == name) => Ok(name.to_owned()),
        (Some(name), _) => {
            let message = format!("no solver {name:?} in it (there are {})", names());
            Err(Failure::new(Exit::Input, message))
        }
        (None, [only]) => Ok(only.clone()),
        (None, _) => {
            let message = format!("several solvers are in it: {} (choose with {flag})", names());
            Err(Failure::new(Exit::Usage, message))
        }
    }
}

/// Returns the attempts whose verdict changed: task, old verdict and new verdict.
fn changed<'a>(
    a: &'a [Row],
    first: &str,
    b: &'a [Row],
    second: &str,
) -> Vec<(&'a str, String, String)> {
    let told = |row: &Row| row.what().unwrap_or_else(|| "faithful".to_owned());
    let of_second = |row: &Row| {
        b.iter().find(|other| {
            other.solver == second
                && (&other.suite, &other.task, other.repetition)
                    == (&row.suite, &row.task, row.repetition)
        })
    };
    a.iter()
        .filter(|row| row.solver == first)
        .filter_map(|row| Some((row.task.as_str(), told(row), told(of_second(row)?))))
        .filter(|(_, was, is)| was != is)
        .collect()
}
