//! The half of slicing that executes code: reads the sources, stores parsed ones between slices,
//! learns from runs of the gist, and advises after a run that differs.
//!
//! The `graph` crate decides which statements a gist needs.

mod advise;
mod difference;
pub(crate) mod extensions;
mod mend;
mod printed;
mod probe;
mod registered;
mod restore;
mod standing;

use std::{
    collections::{BTreeSet, HashSet},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use graph::{
    Adjustments, Gist, LineOrigin, Place, Plan, SliceError, Sliceable, Source, SourceError, Trace,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use advise::restoring;
pub use advise::{AdviceInput, advise};
pub(crate) use difference::varies;
pub use difference::{Difference, DifferenceKind, difference, ends_alike};
pub use probe::{Learned, PROBE_VARIABLE, Probed};
pub use restore::Restore;
pub(crate) use standing::{Compared, RunFailure, failures, place_in_original};
pub use standing::{FailureMatch, Standing};

/// The request for a slice.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SliceRequest {
    /// Use the lessons of the last gist's run: drop lines that it did not execute, and stubs that
    /// nothing called.
    pub refine: bool,
    /// Use the lessons of a refined gist's run besides: drop lines that only dropped code needed.
    pub again: bool,
    /// Run the gist without probes in its stubs: something minds them.
    pub unprobed: bool,
    /// True if the errors that the gist itself caught were observed and acted on.
    pub listened: bool,
    /// True if a run with `first_use` was tried.
    pub timed: bool,
    /// The search for executed statements to restore, though no kept code seems to need them.
    pub restore: Restore,
    /// The deviations from the default.
    pub adjustments: Adjustments,
}

impl SliceRequest {
    /// Returns its fields that differ from their defaults, as arguments of the slice tool.
    pub fn arguments(&self) -> Value {
        let value = |request: &Self| serde_json::to_value(request).unwrap_or_default();
        let mut fields = value(self);
        drop_equal(&mut fields, &value(&Self::default()));
        fields
    }
}

/// Removes the fields of a record that another has in the same way.
fn drop_equal(value: &mut Value, default: &Value) {
    let (Value::Object(fields), Value::Object(defaults)) = (value, default) else { return };
    fields.retain(|key, value| {
        let Some(default) = defaults.get(key) else { return true };
        let is_equal = value == default;
        drop_equal(value, default);
        !is_equal
    });
}

/// Slices of one traced command.
#[derive(Debug)]
pub struct Slicer {
    sliceable: Sliceable,
    trace: Arc<Trace>,
    tests: Vec<(String, Vec<String>)>,
    gist_path: String,
    /// Files of the tests, and of what helps them.
    support: BTreeSet<String>,
    /// By a run of a gist, and by one of that which came of it.
    learned: Vec<Learned>,
    /// The imports of compiled extensions from internal modules: a name, or an empty string for the
    /// module itself.
    needs: Vec<(String, String)>,
}

/// Why a command cannot be sliced.
#[derive(Debug, thiserror::Error)]
pub enum SlicerError {
    /// A file that ran cannot be read.
    #[error("read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file that ran is no Python text.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The sources and the trace give no slice.
    #[error(transparent)]
    Slice(#[from] SliceError),
}

impl Slicer {
    /// Reads and parses the files of a trace, from the original's directory. `tests` are the path
    /// and the names of each test, without names for a whole file; `helpers` are the paths of their
    /// support.
    ///
    /// # Errors
    /// An executed file cannot be read, decoded or parsed.
    pub fn new(
        trace: Arc<Trace>,
        original: &Path,
        tests: Vec<(String, Vec<String>)>,
        helpers: &BTreeSet<String>,
        gist_path: impl Into<String>,
    ) -> Result<Self, SlicerError> {
        let mut sources = Vec::with_capacity(trace.files.len());
        for file in &trace.files {
            let path = original.join(&file.path);
            match std::fs::read(&path) {
                Ok(bytes) => sources.push(Source::decode(file.path.as_str(), &bytes)?),
                // The run wrote it itself, as that of the gist will.
                Err(source) if source.kind() == std::io::ErrorKind::NotFound => {}
                Err(source) => return Err(SlicerError::Read { path, source }),
            }
        }
        let sliceable = Sliceable::parse(&trace, sources, &tests, helpers)?;
        let support = helpers.iter().chain(tests.iter().map(|(path, _)| path)).cloned().collect();
        Ok(Self {
            sliceable,
            trace,
            tests,
            gist_path: gist_path.into(),
            support,
            learned: Vec::new(),
            needs: Vec::new(),
        })
    }

    /// A gist, and why it is as it is.
    #[tracing::instrument(level = "debug", skip_all)]
    pub fn slice(&self, request: &SliceRequest) -> (Plan, Gist) {
        let mut adjustments = request.adjustments.clone();
        for (module, name) in &self.needs {
            match name.as_str() {
                "" => adjustments.register.push(module.clone()),
                _ => adjustments.demands.push((module.clone(), name.clone())),
            }
        }
        if request.refine
            && let Some(first) = self.learned.first()
        {
            let learned = self.learned.last().filter(|_| request.again).unwrap_or(first);
            adjustments.executed = Some(learned.executed.clone());
            adjustments.stubs = (!request.unprobed).then(|| first.asked.clone());
        }
        let slice = |adjustments: &Adjustments| {
            self.sliceable.slice(&self.trace, &self.tests, &self.gist_path, adjustments)
        };
        if request.restore.is_active() {
            let order = self.order(&slice(&adjustments).0);
            adjustments.keep.extend(request.restore.places(&order).cloned());
        }
        slice(&adjustments)
    }

    /// Executed statements that a request leaves out, nearest to the command first, whatever it brings back.
    pub(crate) fn left_out(&self, request: &SliceRequest) -> Vec<Place> {
        let base = SliceRequest { restore: Restore::default(), ..request.clone() };
        self.order(&self.slice(&base).0)
    }

    fn order(&self, plan: &Plan) -> Vec<Place> {
        let entries: Vec<&str> = self.tests.iter().map(|(path, _)| path.as_str()).collect();
        restore::order(plan, &self.trace, &entries)
    }

    /// Sets the imports of compiled extensions from the repository.
    pub(crate) fn need(&mut self, needs: Vec<(String, String)>) {
        self.needs = needs;
    }

    /// Takes in what a run of a gist taught.
    pub fn learn(&mut self, learned: Learned) {
        self.learned.push(learned);
    }

    /// Modules that the original imports before its tests, among those that a gist loaded late.
    ///
    /// What a module does when it is loaded, from a warning to a line in a log, then falls into a test.
    pub fn early(&self, late: &[String]) -> Vec<String> {
        let imported = self.sliceable.imports_before_tests(&self.trace);
        let late = late.iter().filter(|name| imported.contains(*name));
        late.filter(|name| !self.trace.late.contains(name)).cloned().collect()
    }

    /// The run of the original.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Returns true if a run of a gist was learned from.
    pub fn has_learned(&self) -> bool {
        !self.learned.is_empty()
    }

    /// Returns true if a run of the gist has something to teach.
    ///
    /// The first run does. So does the run of a refined gist that lacks lines which the first run
    /// executed: functions called from those may be unused now.
    pub(crate) fn has_to_learn(&self, request: &SliceRequest, gist: &Gist) -> bool {
        match &self.learned[..] {
            [] => true,
            [first] if request.refine && !self.trace.busy => {
                let kept: HashSet<(&str, u32)> = places(gist).collect();
                first.executed_lines().any(|line| !kept.contains(&line))
            }
            _ => false,
        }
    }

    /// Returns the first test or support line that the first gist's run executed and this one did
    /// not.
    ///
    /// The code that would have called it was dropped, although all outcomes agree.
    pub(crate) fn skipped(&self, gist: &Gist, learned: &Learned) -> Option<Place> {
        let [first] = &self.learned[..] else { return None };
        let ran: HashSet<(&str, u32)> = first.executed_lines().collect();
        let runs: HashSet<(&str, u32)> = learned.executed_lines().collect();
        let is_skipped = |line: &(&str, u32)| {
            self.support.contains(line.0) && ran.contains(line) && !runs.contains(line)
        };
        let (path, line) = places(gist).find(is_skipped)?;
        Some(Place { path: path.to_owned(), line })
    }

    /// Returns true if many lines that the first run executed are idle in this gist, so that
    /// another run pays off.
    pub(crate) fn has_idle(&self, gist: &Gist, learned: &Learned) -> bool {
        let [first] = &self.learned[..] else { return false };
        let ran: HashSet<(&str, u32)> = first.executed_lines().collect();
        let runs: HashSet<(&str, u32)> = learned.executed_lines().collect();
        let idle = places(gist).filter(|line| ran.contains(line) && !runs.contains(line)).count();
        idle * PAYS >= gist.lines.len()
    }
}

/// One line of so many that is idle pays for a run.
const PAYS: usize = 50;

/// Lines of the original in a gist.
fn places(gist: &Gist) -> impl Iterator<Item = (&str, u32)> {
    gist.lines.iter().filter_map(|line| match &line.origin {
        LineOrigin::Source(place) => Some((place.path.as_str(), place.line)),
        LineOrigin::Glue(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_have_what_differs_from_the_default() {
        let adjustments = Adjustments {
            register: vec!["a".to_owned()],
            docstrings: true,
            ..Adjustments::default()
        };
        let request = SliceRequest { refine: true, adjustments, ..SliceRequest::default() };
        let arguments = request.arguments();
        let expected =
            json!({ "refine": true, "adjustments": { "docstrings": true, "register": ["a"] } });
        assert_eq!(arguments, expected);
        assert_eq!(serde_json::from_value::<SliceRequest>(arguments).unwrap(), request);
        assert_eq!(SliceRequest::default().arguments(), json!({}));
    }
}
