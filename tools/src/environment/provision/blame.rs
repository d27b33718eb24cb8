//! Why a step of an installation failed, from what its installer printed.

use pep508_rs::PackageName;

use super::{
    super::{EnvironmentError, requirements::parsed},
    Provisioning,
};
use crate::sandbox::{Finished, Status};

impl Provisioning<'_> {
    /// Fails if a step did; `what` names its product.
    pub(super) fn checked(&self, finished: Finished, what: &str) -> Result<(), EnvironmentError> {
        self.explained(finished, |_| what.to_owned())
    }

    pub(super) fn installed(
        &self,
        finished: Finished,
        wanted: &str,
    ) -> Result<(), EnvironmentError> {
        self.explained(finished, |log| {
            culprit(log, wanted).unwrap_or_else(|| "the requirements".to_owned())
        })
    }

    fn explained(
        &self,
        finished: Finished,
        what: impl FnOnce(&str) -> String,
    ) -> Result<(), EnvironmentError> {
        let log = format!("{}{}", finished.stdout.text(), finished.stderr.text());
        let reason = match finished.status {
            Status::Exited(0) => return Ok(()),
            Status::Interrupted => return Err(EnvironmentError::Interrupted),
            Status::TimedOut => "it takes too long",
            Status::OutOfMemory => "it needs too much memory",
            Status::Exited(_) | Status::Signaled(_) if no_network(&log) => {
                "the package index is not reached (is there a network?)"
            }
            Status::Exited(_) | Status::Signaled(_) if log.contains("No space left on device") => {
                "the disk is full"
            }
            Status::Exited(_) | Status::Signaled(_) => "it cannot be installed",
        };
        let what = what(&log);
        Err(EnvironmentError::Install { what, reason: reason.to_owned(), log: tail(&log) })
    }
}

/// The requirement that an installer's log blames.
fn culprit(log: &str, wanted: &str) -> Option<String> {
    const MARKS: [(&str, &str); 9] = [
        ("No matching distribution found for ", "\n"),
        ("satisfies the requirement ", " ("),
        ("Failed building wheel for ", "\n"),
        ("Failed to build installable wheels for some pyproject.toml based projects (", ")"),
        ("ERROR: Could not build wheels for ", ","),
        ("ERROR: Failed to build '", "'"),
        ("Failed to build `", "`"),
        ("Failed to download `", "`"),
        ("Because ", " was not found"),
    ];
    for (mark, end) in MARKS {
        let Some(at) = log.find(mark) else { continue };
        let rest = &log[at + mark.len()..];
        let name = rest.split(end).next().unwrap_or_default();
        let name = name.lines().next().unwrap_or_default().trim();
        if !name.is_empty() && name.len() < 200 {
            return Some(name.to_owned());
        }
    }
    // pip takes one after the other before it builds.
    let taken = |line: &str| -> Option<PackageName> {
        let line = line.trim();
        let text = match line.strip_prefix("Processing ") {
            Some(path) => path.split(" (").next()?.rsplit('/').next()?.split_once('-')?.0,
            None => line.strip_prefix("Collecting ")?.split([' ', '(']).next()?,
        };
        name_of(text)
    };
    let last = log.lines().rev().find_map(taken)?;
    let mut lines = wanted.lines().map(str::trim);
    let line = lines.find(|line| name_of(line).as_ref() == Some(&last));
    Some(line.map_or_else(|| last.to_string(), str::to_owned))
}

fn name_of(requirement: &str) -> Option<PackageName> {
    Some(parsed(requirement)?.name)
}

fn no_network(log: &str) -> bool {
    const MARKS: [&str; 8] = [
        "NewConnectionError",
        "Failed to establish a new connection",
        "Temporary failure in name resolution",
        "Name or service not known",
        "Network is unreachable",
        "error sending request",
        "dns error",
        "ProxyError",
    ];
    MARKS.iter().any(|mark| log.contains(mark))
}

/// The last lines of a log, neutralised for printing.
fn tail(log: &str) -> String {
    const LINES: usize = 30;
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    let plain = |line: &&str| -> String {
        line.chars().filter(|char| !char.is_control() || *char == '\t').take(400).collect()
    };
    let last = &lines[lines.len().saturating_sub(LINES)..];
    last.iter().map(plain).collect::<Vec<_>>().join("\n")
}
