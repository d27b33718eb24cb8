//! What a bench has to reach, and its exit code.

use ::eval::{Row, Standing, SuiteRow, Summary, Task};

use super::{Exit, Failure};

/// A fidelity to reach, in percent: of the suite that is named, or of all that are not.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    suite: Option<String>,
    percent: f64,
}

/// The worst that became of any task, where some suite is below the fidelity that was asked for. What the
/// machine failed at is never made up for.
pub fn exit(results: &[Row], summary: &Summary, bars: &[Bar]) -> Exit {
    let of = |row: &Row| match row.standing {
        Standing::Scored if row.fidelity == Some(1.0) => Exit::Success,
        Standing::Scored => Exit::NotFaithful,
        Standing::Quarantined | Standing::Unfit => Exit::Success,
        Standing::Infrastructure => Exit::Infrastructure,
    };
    let worst = results.iter().map(of).max().unwrap_or(Exit::Success);
    let of_all = bars.iter().rfind(|bar| bar.suite.is_none());
    let least = |suite: &str| {
        let own = bars.iter().rfind(|bar| bar.suite.as_deref() == Some(suite));
        own.or(of_all).map_or(100.0, |bar| bar.percent)
    };
    // The row of all suites together is nobody's.
    let is_suite = |row: &&SuiteRow| results.iter().any(|result| result.suite == row.suite);
    let reached = summary.suites.iter().filter(is_suite).all(|row| {
        row.fidelity.is_none_or(|fidelity| fidelity * 100.0 >= least(&row.suite) - ROUNDING)
    });
    match worst {
        Exit::NotFaithful if reached => Exit::Success,
        worst => worst,
    }
}

/// A mean of zeros and ones that is exact in percent may be off by this much.
const ROUNDING: f64 = 1e-9;

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

pub fn parse(text: &str) -> Result<Bar, String> {
    let (suite, value) = match text.rsplit_once('=') {
        Some((suite, value)) => (Some(suite.to_owned()), value),
        None => (None, text),
    };
    let percent = value.trim_end_matches('%').parse::<f64>().ok();
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    Ok(Bar { suite, percent: percent.ok_or_else(|| "not a number from 0 to 100".to_owned())? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_understood_or_refused() {
        assert_eq!(parse("93.5"), Ok(Bar { suite: None, percent: 93.5 }));
        assert_eq!(parse("a=b=50%"), Ok(Bar { suite: Some("a=b".to_owned()), percent: 50.0 }));
        for wrong in ["101", "-1", "NaN", "x", "flask=", "=x"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
