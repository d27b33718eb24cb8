//! The threshold that a bench has to reach, and its exit code. Failures of the machine do not
//! count, for or against it.

use std::collections::BTreeMap;

use ::eval::{AttemptStanding, Evaluation, Row, Task};
use clap::{Args, ValueEnum};

use super::{Exit, Failure};

/// A fidelity to reach, in percent: of the suite that is named, or of all that are not.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    suite: Option<String>,
    /// In thousandths of a percent, which are whole.
    thousandths: u32,
}

/// The condition on a gist besides being faithful.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct Requirement {
    /// End with 0 only if gists are this as well as faithful.
    #[arg(long = "require", value_name = "WHAT", value_enum)]
    require: Option<Required>,
}

/// A second answer about a gist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Required {
    /// Every line is the original's or glue, and the original tests hold on it.
    Verified,
}

impl Requirement {
    /// Returns true if a verdict has what is required.
    pub fn is_met(self, evaluation: &Evaluation) -> bool {
        match self.require {
            Some(Required::Verified) => evaluation.is_verified(),
            None => true,
        }
    }

    fn is_met_by(self, row: &Row) -> bool {
        match self.require {
            Some(Required::Verified) => row.is_verified(),
            None => true,
        }
    }
}

/// Thousandths of a percent in one.
const WHOLE: u32 = 100_000;

/// The worst that became of any task, where some solver is below what was asked of a suite.
pub fn exit(results: &[Row], bars: &[Bar], required: Requirement) -> Exit {
    let of = |row: &Row| match row.standing {
        AttemptStanding::Scored if is_success(row, required) => Exit::Success,
        AttemptStanding::Scored => Exit::NotFaithful,
        AttemptStanding::Quarantined | AttemptStanding::Unfit => Exit::Success,
        AttemptStanding::Infrastructure => Exit::Infrastructure,
    };
    let worst = results.iter().map(of).max().unwrap_or(Exit::Success);
    match worst {
        Exit::NotFaithful if reached(results, bars, required) => Exit::Success,
        worst => worst,
    }
}

fn is_success(row: &Row, required: Requirement) -> bool {
    row.is_faithful() && required.is_met_by(row)
}

/// Refuses bars of suites that no task is of.
pub fn known(bars: &[Bar], tasks: &[Task]) -> Result<(), Failure> {
    let strange = bars
        .iter()
        .filter_map(|bar| bar.suite.as_deref())
        .find(|suite| tasks.iter().all(|task| task.suite != *suite));
    strange.map_or(Ok(()), |suite| {
        let message = format!("--at-least {suite}=...: no such suite is run");
        Err(Failure::new(Exit::Usage, message))
    })
}

/// Reads `PERCENT` or `SUITE=PERCENT`.
pub fn parse(text: &str) -> Result<Bar, String> {
    let (suite, value) = match text.rsplit_once('=') {
        Some((suite, value)) => (Some(suite.to_owned()), value),
        None => (None, text),
    };
    let percent = value.trim_end_matches('%').parse::<f64>().ok();
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    let percent = percent.ok_or_else(|| "not a number from 0 to 100".to_owned())?;
    Ok(Bar { suite, thousandths: (percent * 1000.0).round() as u32 })
}

fn reached(results: &[Row], bars: &[Bar], required: Requirement) -> bool {
    let of_all = bars.iter().rfind(|bar| bar.suite.is_none());
    let least = |suite: &str| {
        let own = bars.iter().rfind(|bar| bar.suite.as_deref() == Some(suite));
        own.or(of_all).map_or(WHOLE, |bar| bar.thousandths)
    };
    let mut scores: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for row in results.iter().filter(|row| row.standing == AttemptStanding::Scored) {
        let own = scores.entry((&row.suite, &row.solver)).or_default();
        own.push(f64::from(u8::from(is_success(row, required))));
    }
    scores.iter().all(|((suite, _), scores)| {
        // Fidelity is 0 or 1: all of this is whole.
        let sum: f64 = scores.iter().sum();
        sum * f64::from(WHOLE) >= f64::from(least(suite)) * scores.len() as f64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_understood_or_refused() {
        assert_eq!(parse("93.5"), Ok(Bar { suite: None, thousandths: 93_500 }));
        assert_eq!(
            parse("a=b=50%"),
            Ok(Bar { suite: Some("a=b".to_owned()), thousandths: 50_000 })
        );
        for wrong in ["101", "-1", "NaN", "x", "flask=", "=x"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
