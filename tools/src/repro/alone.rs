//! Finds out if a gist does the same away from the repository, and if not, what it needs there.
//!
//! Each need is found by an experiment: a run with that one thing more.

use std::collections::{BTreeMap, BTreeSet};

use graph::{DataFile, Gist, Reach, imported_modules, with_data};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    NAME,
    bed::{Bed, FileRun, Trial},
    complete, data_files,
    script::{ReproForm, ReproHead, headed},
};
use crate::{
    candidate::GIST_NAME,
    command::Command,
    environment::Inventory,
    execute::Shell,
    session::Session,
    slice::{DifferenceKind, difference, failures},
    tool::{Problem, ToolError},
};

/// The behaviour of a gist alone: in an empty directory, with a fresh home, an ordinary shell's
/// environment, and no packages other than its imports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Alone {
    /// True if it ends as the original does.
    pub holds: bool,
    /// The things that it needs for that besides itself, in words; empty if unknown.
    pub needs: Vec<String>,
    /// The different end, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<String>,
    /// True if an interrupt came first, so that nothing is known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

impl Alone {
    /// The behaviour that is unknown, as the user stopped the runs.
    fn not_tried() -> Self {
        Self { interrupted: true, ..Self::default() }
    }
}

impl std::fmt::Display for Alone {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.interrupted {
            return out.write_str("it was not run there (interrupted)");
        }
        match (self.holds, &self.needs[..], &self.otherwise) {
            (true, ..) => out.write_str("it ends in the same way, also in an ordinary shell"),
            (false, [], None) => out.write_str("it ends in another way, for an unknown reason"),
            (false, [], Some(otherwise)) => write!(out, "it ends in another way: {otherwise}"),
            (false, needs, _) => write!(out, "it needs {}", needs.join(", ")),
        }
    }
}

/// The variables of the fixed environment that an ordinary shell has not.
const VARIABLES: [(&str, &str); 3] =
    [("TZ", "UTC"), ("LC_ALL", "C.UTF-8"), ("PYTHONHASHSEED", "0")];

/// Finds the things that a gist needs to behave alone as it does in the place of the repository.
///
/// # Errors
/// There is no gist, or a run cannot be made.
#[tracing::instrument(level = "debug", skip_all)]
pub fn alone(session: &Session) -> Result<Alone, ToolError> {
    let found = alone_uninterrupted(session);
    match session.interrupt.is_triggered() {
        true => Ok(found.ok().filter(|found| found.holds).unwrap_or_else(Alone::not_tried)),
        false => found,
    }
}

fn alone_uninterrupted(session: &Session) -> Result<Alone, ToolError> {
    let Some(gist) = session.findings.gist.as_ref().map(|gist| gist.text.as_str()) else {
        return Err(Problem::NoGist.because("there is no gist to run alone"));
    };
    let modules = imported_modules(gist);
    let inventory = session
        .environment
        .inventory(&modules, &*session.sandbox)
        .map_err(|error| ToolError::Fatal(error.to_string()))?;
    let plugins: BTreeSet<String> = match session.command.is_pytest() {
        true => inventory
            .distributions()
            .iter()
            .filter(|one| one.plugin && !one.editable)
            .map(|one| one.name.clone())
            .collect(),
        false => BTreeSet::new(),
    };
    let mut packages = inventory.owners_of(&modules);
    if session.command.is_pytest() {
        packages.insert("pytest".to_owned());
    }
    let trials = Trials { session, gist, inventory, packages };
    let bare = Needs { shell: Shell::Ordinary, ..Needs::default() };
    let first = trials.run(&bare)?;
    if is_same(session, &first) {
        return Ok(Alone { holds: true, ..Alone::default() });
    }
    if first.interrupted() {
        return Ok(Alone::not_tried());
    }
    let otherwise = Some(first.describe_end());
    let (files, larger) = data_files(session, gist)?;
    let all = Needs { files, plugins, shell: Shell::Fixed, variables: BTreeMap::new() };
    let none = Alone { needs: larger, otherwise, ..Alone::default() };
    if !none.needs.is_empty() || !trials.holds(&all)? {
        return Ok(none);
    }
    Ok(Alone { needs: trials.least(all)?, ..none })
}

/// A gist as a file that runs by itself: behind its head, with the data files that it reads, and with the lines that run
/// it. It is not made smaller. After an interrupt it is the gist as it is.
///
/// # Errors
/// There is no gist, or a run cannot be made.
pub fn standalone(session: &Session, head: &ReproHead) -> Result<(Gist, Alone), ToolError> {
    let found = standalone_uninterrupted(session, head);
    match (&session.findings.gist, session.interrupt.is_triggered()) {
        (Some(gist), true) if !found.as_ref().is_ok_and(|(_, found)| found.holds) => {
            Ok((gist.clone(), Alone::not_tried()))
        }
        _ => found,
    }
}

fn standalone_uninterrupted(
    session: &Session,
    head: &ReproHead,
) -> Result<(Gist, Alone), ToolError> {
    let Some(gist) = session.findings.gist.clone() else {
        return Err(Problem::NoGist.because("there is no gist to run alone"));
    };
    let mut found = alone(session)?;
    let form = ReproForm::of(&session.command_without_plugins()?);
    let inventory = session
        .environment
        .inventory(&imported_modules(&gist.text), &*session.sandbox)
        .map_err(|error| ToolError::Fatal(error.to_string()))?;
    let packages = form.packages(&inventory, &gist, true);
    let bed = Bed::new(session, &inventory, &packages)?;
    let (files, _) =
        if found.holds { Default::default() } else { data_files(session, &gist.text)? };
    let command = session.command_without_plugins()?.for_gist(NAME);
    let path = session.gist_path();
    // What may run elsewhere comes back, as far as the command still does what it did.
    let completed = complete(session, &gist);
    let mut whole = gist.clone();
    let run = bed.runs(session, &Trial::of(&completed.text, &command))?;
    if is_same(session, &run) {
        whole = completed.clone();
        found = Alone { holds: true, ..Alone::default() };
    }
    let (files, gist) = if found.holds { (Vec::new(), gist) } else { (files, completed) };
    for reach in [Reach::File, Reach::Directory, Reach::Package] {
        if files.is_empty() {
            break;
        }
        let longer = with_data(&gist, &files, &path, reach);
        let run = bed.runs(session, &Trial::of(&longer.text, &command))?;
        if is_same(session, &run) {
            whole = longer;
            found = Alone { holds: true, ..Alone::default() };
            break;
        }
    }
    let original = session.findings.original.as_deref();
    let failed = original.and_then(|run| failures(run).into_iter().next());
    let expected = match failed.as_ref().map(|failure| failure.raised.as_deref()) {
        None => "it does what the command does, which passes".to_owned(),
        Some(Some(raised)) => format!("{}: {}", raised.kind, raised.message),
        Some(None) => original.map_or_else(String::new, |run| run.status.describe()),
    };
    let whole = form.with_main(&form.prepared(&whole, &session.command));
    let names = form.packages(&inventory, &gist, false);
    let requires = inventory.pinned(&names);
    Ok((headed(&whole, &form, &ReproHead { expected, requires, ..head.clone() }), found))
}

/// Returns true if a run ends as the original does; what it prints may look different in another shell.
fn is_same(session: &Session, run: &FileRun) -> bool {
    let Some(original) = &session.findings.original else { return false };
    let again = session.findings.again.as_deref();
    let found = difference(original, again, &run.execution, &run.raw);
    found.is_none_or(|found| found.what == DifferenceKind::Output)
}

/// The things around the gist.
#[derive(Debug, Clone, Default)]
struct Needs {
    files: Vec<DataFile>,
    plugins: BTreeSet<String>,
    shell: Shell,
    variables: BTreeMap<String, String>,
}

struct Trials<'a> {
    session: &'a Session,
    gist: &'a str,
    inventory: Inventory,
    packages: BTreeSet<String>,
}

impl Trials<'_> {
    fn holds(&self, needs: &Needs) -> Result<bool, ToolError> {
        Ok(is_same(self.session, &self.run(needs)?))
    }

    fn run(&self, needs: &Needs) -> Result<FileRun, ToolError> {
        let session = self.session;
        let packages: BTreeSet<String> = &self.packages | &needs.plugins;
        let bed = Bed::new(session, &self.inventory, &packages)?;
        // Files lie where the gist looks for them from its own place.
        let path = match needs.files.is_empty() {
            true => GIST_NAME.to_owned(),
            false => session.gist_path(),
        };
        let command: Command = session.command_without_plugins()?.for_gist(&path);
        bed.runs(
            session,
            &Trial {
                path: &path,
                files: &needs.files,
                shell: needs.shell,
                variables: &needs.variables,
                ..Trial::of(self.gist, &command)
            },
        )
    }

    /// Returns the needed things, in words: each one is removed, and put back if the gist needs it.
    fn least(&self, all: Needs) -> Result<Vec<String>, ToolError> {
        let mut needs = all;
        let mut told = Vec::new();
        for path in needs.files.iter().map(|file| file.path.clone()).collect::<Vec<_>>() {
            let mut fewer = needs.clone();
            fewer.files.retain(|file| file.path != path);
            if self.holds(&fewer)? {
                needs = fewer;
            } else {
                told.push(path);
            }
        }
        for name in needs.plugins.clone() {
            let mut fewer = needs.clone();
            fewer.plugins.remove(&name);
            if self.holds(&fewer)? {
                needs = fewer;
            } else {
                told.push(format!("the plugin {name}"));
            }
        }
        let ordinary = Needs { shell: Shell::Ordinary, ..needs.clone() };
        if !self.holds(&ordinary)? {
            told.push(self.variable(&ordinary)?);
        }
        Ok(told)
    }

    /// The variable that makes the difference between an ordinary shell and the fixed environment.
    fn variable(&self, ordinary: &Needs) -> Result<String, ToolError> {
        if self.holds(&Needs { shell: Shell::Bare, ..ordinary.clone() })? {
            return Ok("an environment that has no TERM".to_owned());
        }
        for (name, value) in VARIABLES {
            let variables = BTreeMap::from([(name.to_owned(), value.to_owned())]);
            if self.holds(&Needs { variables, ..ordinary.clone() })? {
                return Ok(format!("{name}={value}"));
            }
        }
        Ok("the environment variables of its judge".to_owned())
    }
}
