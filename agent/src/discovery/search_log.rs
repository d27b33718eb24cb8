//! The log of a search, by phases, in the form of Listing 2.

use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;

/// The phases of a search, in order (RepoMaster, Listing 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SearchPhase {
    /// The task and the criteria for repositories.
    TaskDefinition,
    /// Entities, keywords and search queries.
    IntentAnalysis,
    /// The queries, and the selection of the repositories to look at.
    Searching,
    /// Their READMEs and stars, as briefs.
    Browsing,
    /// Their ranking, and the validation of the best.
    Analysing,
}

impl SearchPhase {
    /// Its head in the log.
    pub fn title(self) -> &'static str {
        match self {
            Self::TaskDefinition => "Task Definition Phase",
            Self::IntentAnalysis => "Intent Analysis Phase",
            Self::Searching => "Searching Phase",
            Self::Browsing => "Browsing Phase",
            Self::Analysing => "Analysing Phase",
        }
    }
}

/// A phase with its lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PhaseLog {
    /// The phase.
    pub phase: SearchPhase,
    /// The lines, in order.
    pub lines: Vec<String>,
}

/// Collects the lines of a search and passes each on as it comes.
pub struct SearchLog<'a> {
    phases: Mutex<Vec<PhaseLog>>,
    heard: &'a dyn Fn(&str),
}

impl<'a> SearchLog<'a> {
    /// An empty log; `heard` receives each line.
    pub fn new(heard: &'a dyn Fn(&str)) -> Self {
        Self { phases: Mutex::default(), heard }
    }

    /// Begins a phase.
    pub fn begin(&self, phase: SearchPhase) {
        (self.heard)(&format!("/* {} */", phase.title()));
        let mut phases = self.phases.lock().unwrap_or_else(PoisonError::into_inner);
        phases.push(PhaseLog { phase, lines: Vec::new() });
    }

    /// Adds a line to the phase that began last.
    pub fn line(&self, text: impl Into<String>) {
        let text = text.into();
        (self.heard)(&text);
        let mut phases = self.phases.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(phase) = phases.last_mut() {
            phase.lines.push(text);
        }
    }

    /// Returns the phases so far.
    pub fn phases(&self) -> Vec<PhaseLog> {
        self.phases.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
