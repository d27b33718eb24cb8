//! Lays installed packages beside a repository, so that their modules are the repository's own from then on.
//!
//! Owns which packages may be laid there. The user's repository and environment are not changed. The packages
//! lie in a copy of the repository, and only the runs of this command import them from there.

use std::{collections::BTreeSet, fs, path::Path};

use super::{Distribution, Environment, EnvironmentError, Inventory, project};
use crate::{
    candidate::is_compiled,
    command::Command,
    repository::{Repository, RepositoryError, normal_name},
    sandbox::Sandbox,
    snapshot::{EntryKind, Snapshot},
    workspace::{Workspace, WorkspaceError, copy_tree},
};

/// The directory of the packages in the copy of the repository. In directories with this ending pytest looks for no
/// tests.
const PLACE: &str = "inlined.egg";

/// A repository, and the packages that are to be part of it.
#[derive(Clone, Copy)]
pub struct InlineSpec<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// The environment that has the packages.
    pub environment: &'a Environment,
    /// The command.
    pub command: &'a Command,
    /// Names of distributions, or of modules of theirs.
    pub packages: &'a [String],
    /// Keeps the copy.
    pub workspace: &'a Workspace,
    /// Starts the interpreter.
    pub sandbox: &'a dyn Sandbox,
}

/// A repository with packages beside its own modules.
#[derive(Debug)]
pub struct InlinedPackages {
    /// The repository, in a copy.
    pub repository: Repository,
    /// The environment that imports the packages from the copy.
    pub environment: Environment,
    /// The packages.
    pub packages: Vec<Distribution>,
}

/// The reason why a package cannot be part of a repository.
#[derive(Debug, thiserror::Error)]
pub enum InlineError {
    /// The package cannot be copied.
    #[error("inline {package}: {reason}")]
    Unfit {
        /// As it was named.
        package: String,
        /// The reason.
        reason: String,
    },
    /// The interpreter cannot say what is installed.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// The copy cannot be made.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The copy cannot be read.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
}

/// Copies a repository, and lays packages of its environment into the copy.
///
/// # Errors
/// A package is not installed, is not of Python alone, or belongs to the repository or to pytest; the copy fails.
pub fn inline_packages(spec: &InlineSpec<'_>) -> Result<InlinedPackages, InlineError> {
    let names: BTreeSet<String> = spec.packages.iter().cloned().collect();
    let inventory = spec.environment.inventory(&names, spec.sandbox)?;
    let mut packages: Vec<Distribution> = Vec::new();
    for name in &names {
        let unfit = |reason| InlineError::Unfit { package: name.clone(), reason };
        let package = installed(name, &inventory)
            .ok_or_else(|| missing(name, spec))
            .and_then(|package| check_package(package, &inventory, spec).map(|()| package))
            .map_err(unfit)?;
        if packages.iter().all(|one| one.name != package.name) {
            packages.push(package.clone());
        }
    }
    let root = spec.repository.root.file_name().unwrap_or("repository".as_ref());
    let root = spec.workspace.directory("inlined")?.join(root);
    spec.workspace.copy_to(spec.repository, &root)?;
    let place = root.join(PLACE);
    for (package, top) in packages.iter().flat_map(|one| one.sources().map(move |top| (one, top))) {
        let (from, to) = (package.site.join(top), place.join(top));
        let copied = match from.is_dir() {
            true => fs::create_dir_all(&to)
                .map_err(|error| (to.clone(), error))
                .and_then(|()| copy_tree(&from, &to)),
            false => fs::create_dir_all(&place)
                .and_then(|()| fs::copy(&from, &to).map(drop))
                .map_err(|error| (from.clone(), error)),
        };
        copied.map_err(|(path, source)| WorkspaceError::Copy { from, to, path, source })?;
    }
    let mut environment = spec.environment.clone();
    environment.pythonpath.push(PLACE.to_owned());
    Ok(InlinedPackages { repository: spec.repository.moved_to(root)?, environment, packages })
}

/// Returns true if a path, relative to the copied repository, lies in a module of the package.
pub fn is_inlined_from(path: &str, package: &Distribution) -> bool {
    let inside = path.strip_prefix(PLACE).and_then(|rest| rest.strip_prefix('/'));
    let top = inside.and_then(|inside| inside.split('/').next());
    top.is_some_and(|top| package.sources().any(|one| one == top))
}

/// The distribution that has a name, or a module of that name.
fn installed<'a>(name: &str, inventory: &'a Inventory) -> Option<&'a Distribution> {
    let of_module = || {
        let owners = inventory.owners_of(&BTreeSet::from([name.to_owned()]));
        inventory.get(owners.first()?)
    };
    inventory.get(&normal_name(name)).or_else(of_module)
}

/// Returns the message for a name that no installed distribution has.
fn missing(name: &str, spec: &InlineSpec<'_>) -> String {
    let roots = spec.environment.pythonpath.iter().map(|entry| spec.repository.root.join(entry));
    let modules = [name.to_owned(), format!("{name}.py")];
    let is_own = !name.is_empty()
        && roots
            .chain([spec.repository.root.clone()])
            .any(|root| modules.iter().any(|one| root.join(one).exists()));
    let python = spec.environment.python.display();
    match is_own {
        true => "it is the repository's own, which is cut anyway".to_owned(),
        false => {
            format!(
                "{python} has no such package (install it with `{python} -m pip install {name}`)"
            )
        }
    }
}

/// Refuses a distribution that cannot be part of the repository, with the reason.
fn check_package(
    package: &Distribution,
    inventory: &Inventory,
    spec: &InlineSpec<'_>,
) -> Result<(), String> {
    let root = &spec.repository.root;
    let is_own = project(root).0.is_some_and(|name| normal_name(&name) == package.name);
    if is_own || package.editable {
        return Err("it is the repository itself, or installed in place".to_owned());
    }
    let is_loaded = || {
        let runner = BTreeSet::from(["pytest".to_owned()]);
        package.plugin || inventory.closure(&runner).iter().any(|one| one.name == package.name)
    };
    if spec.command.is_pytest() && is_loaded() {
        return Err("pytest loads it before the command runs".to_owned());
    }
    let mut tops = package.sources().peekable();
    if tops.peek().is_none() {
        return Err("it has no modules".to_owned());
    }
    for top in tops {
        let mut others = inventory.distributions().iter().filter(|one| one.name != package.name);
        if let Some(other) = others.find(|one| one.sources().any(|its| its == top)) {
            return Err(format!("it shares {top} with {}", other.name));
        }
        let mut roots = spec.environment.pythonpath.iter();
        if roots.any(|entry| root.join(entry).join(top).exists()) {
            return Err(format!("the repository has {top} too"));
        }
        check_sources(&package.site.join(top))?;
    }
    Ok(())
}

/// Refuses a file or directory that is compiled, or cannot be copied whole.
fn check_sources(path: &Path) -> Result<(), String> {
    let compiled = |path: &Path| {
        let shown = path.display().to_string();
        is_compiled(&shown).then(|| format!("it is not of Python alone ({shown})"))
    };
    if !path.is_dir() {
        return compiled(path).map_or(Ok(()), Err);
    }
    let inside =
        Snapshot::of(path).map_err(|(path, error)| format!("read {}: {error}", path.display()))?;
    let files = inside.entries.iter().filter(|entry| matches!(entry.kind, EntryKind::File { .. }));
    if let Some(why) = files.map(|entry| compiled(&entry.path)).find_map(|why| why) {
        return Err(why);
    }
    match inside.skipped.iter().find(|one| !one.reason.is_expected()) {
        Some(skipped) => Err(format!("{}: {}", path.join(&skipped.path).display(), skipped.reason)),
        None => Ok(()),
    }
}
