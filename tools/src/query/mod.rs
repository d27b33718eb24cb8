//! The work on a query in natural language: a directory with a copy of the repository, inputs that stay as they are, and
//! the outputs that are the answer (RepoMaster, section 3.3.2 and appendix A).
//!
//! ```text
//! repository/   a copy, which may be changed
//! inputs/       a link to copies of the inputs, which may only be read
//! outputs/      the files here are the answer
//! ```
//!
//! Programs run in the sandbox, at the top of that directory. Whether an answer is right is not judged here.

mod outputs;
mod write_file;

use std::{
    collections::BTreeMap,
    fs::{self, File, Permissions},
    io,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use graph::open_beneath;

use crate::{
    environment::Environment,
    execute::{SYSTEM_PATH, pythonpath},
    repository::Repository,
    sandbox::{Limits, Network, Request},
    workspace::{Workspace, WorkspaceError, make_readable},
};

pub use outputs::{Outputs, keep_outputs};
pub(crate) use write_file::WriteFileTool;

/// A query, and what its answer is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The words.
    pub text: String,
    /// The inputs.
    pub inputs: Vec<QueryInput>,
    /// The names of the output files; empty where any name of the rule will do.
    pub expected: Vec<String>,
    /// The directory of the work.
    pub work: QueryWork,
}

/// A file that a query is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryInput {
    /// Its name below `inputs`.
    pub name: String,
    /// The description of its contents.
    pub description: String,
    /// The file itself.
    pub source: PathBuf,
}

/// The directory of the work on a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryWork {
    root: PathBuf,
    inputs: PathBuf,
}

/// A program that works on a query, and its bounds.
#[derive(Clone, Copy)]
pub struct QueryProgram<'a> {
    /// Its absolute path.
    pub program: &'a Path,
    /// Its arguments.
    pub args: &'a [String],
    /// The interpreter and packages of the repository.
    pub environment: &'a Environment,
    /// The directory for its temporary files.
    pub scratch: &'a Path,
    /// When it is stopped.
    pub limits: Limits,
    /// `PYTHONHASHSEED`.
    pub hash_seed: u32,
    /// Environment variables besides the fixed ones.
    pub variables: &'a BTreeMap<String, String>,
}

/// The names in the directory of the work.
const REPOSITORY: &str = "repository";
const INPUTS: &str = "inputs";
const OUTPUTS: &str = "outputs";

impl QueryWork {
    /// Lays out the directory in a workspace.
    ///
    /// # Errors
    /// The repository or an input cannot be copied.
    pub fn lay_out(
        workspace: &Workspace,
        repository: &Repository,
        inputs: &[QueryInput],
    ) -> Result<Self, WorkspaceError> {
        let work =
            Self { root: workspace.directory("query")?, inputs: workspace.directory(INPUTS)? };
        workspace.copy_to(repository, &work.repository())?;
        copy_inputs(inputs, &work.inputs)?;
        let failed = |path: PathBuf| move |source| WorkspaceError::Create { path, source };
        let link = work.root.join(INPUTS);
        symlink(&work.inputs, &link).map_err(failed(link))?;
        let outputs = work.outputs();
        fs::create_dir(&outputs).map_err(failed(outputs))?;
        Ok(work)
    }

    /// The directory itself, in which programs run.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The copy of the repository.
    pub fn repository(&self) -> PathBuf {
        self.root.join(REPOSITORY)
    }

    /// The directory of the answer.
    pub fn outputs(&self) -> PathBuf {
        self.root.join(OUTPUTS)
    }

    /// Copies the outputs into a new directory. A program may have taken away the permission to read them; it is given back.
    ///
    /// # Errors
    /// A file cannot be read or written; the error names it.
    pub fn keep_outputs(&self, into: &Path) -> Result<(), WorkspaceError> {
        make_readable(&self.outputs());
        keep_outputs(&self.outputs(), into)
    }

    /// Opens a file or directory of the work by its relative path, for reading.
    ///
    /// # Errors
    /// There is none, or the path leads out.
    pub fn open(&self, path: &str) -> io::Result<File> {
        let path = Path::new(path);
        match path.strip_prefix(INPUTS) {
            Ok(rest) => open_beneath(&self.inputs, rest),
            Err(_) => open_beneath(&self.root, path),
        }
    }

    /// The names of the input files.
    ///
    /// # Errors
    /// They cannot be listed.
    pub fn input_names(&self) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(&self.inputs)?;
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        let mut names = names.collect::<io::Result<Vec<_>>>()?;
        names.sort_unstable();
        Ok(names)
    }

    /// The run of a program in the directory.
    pub fn request(&self, run: &QueryProgram<'_>) -> Request {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let programs = run.environment.python.parent().map(text).unwrap_or_default();
        let mut env: BTreeMap<String, String> = [
            ("PATH", format!("{programs}:{SYSTEM_PATH}")),
            ("HOME", text(run.scratch)),
            ("TMPDIR", text(run.scratch)),
            ("LANG", "C.UTF-8".to_owned()),
            ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
            ("PYTHONHASHSEED", run.hash_seed.to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let entries = pythonpath(run.environment, &self.repository());
        env.extend((!entries.is_empty()).then(|| ("PYTHONPATH".to_owned(), entries)));
        env.extend(run.variables.clone());
        let writable = vec![self.root.clone(), run.scratch.to_path_buf()];
        let mut readable = writable.clone();
        readable.push(self.inputs.clone());
        readable.extend(run.environment.readable.clone());
        Request {
            program: run.program.to_path_buf(),
            args: run.args.iter().map(Into::into).collect(),
            cwd: self.root.clone(),
            env,
            readable,
            writable,
            hidden: Vec::new(),
            network: Network::Loopback,
            limits: run.limits,
        }
    }
}

/// Copies inputs into a directory, where nobody can change them.
///
/// # Errors
/// One cannot be copied.
pub fn copy_inputs(inputs: &[QueryInput], into: &Path) -> Result<(), WorkspaceError> {
    for input in inputs {
        let path = into.join(&input.name);
        let copied = fs::copy(&input.source, &path)
            .and_then(|_| fs::set_permissions(&path, Permissions::from_mode(0o444)));
        copied.map_err(|source| WorkspaceError::Copy {
            from: input.source.clone(),
            to: into.to_path_buf(),
            path: input.source.clone(),
            source,
        })?;
    }
    Ok(())
}
