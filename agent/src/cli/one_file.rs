//! One file without a repository: the packages that it needs, an environment with them, and runs beside it.

use std::{collections::BTreeMap, fs, path::Path};

use tools::{
    Around, Command, Environment, Execution, ProvisionRequest, Repository, RunSpec, Sandbox, Shell,
    Status, Workspace, execute, normal_name,
};

use super::{
    Exit, Failure, OrExit,
    progress::ProgressLine,
    surroundings::Surroundings,
    target::{of_environment, version},
};

/// The requirements in a file's block of PEP 723.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The requirements, in order.
    pub dependencies: Vec<String>,
    /// `3.12`, where the block pins a version of Python.
    pub python: Option<String>,
}

impl Needs {
    /// Reads the block; a file without one needs nothing.
    pub fn of(text: &str) -> Self {
        let mut lines = text.lines().skip_while(|line| *line != "# /// script").skip(1);
        let block: String = lines
            .by_ref()
            .take_while(|line| *line != "# ///" && line.starts_with('#'))
            .map(|line| format!("{}\n", line.trim_start_matches('#').trim_start()))
            .collect();
        let Ok(table) = block.parse::<toml::Table>() else { return Self::default() };
        let dependencies = table.get("dependencies").and_then(toml::Value::as_array);
        let dependencies = dependencies.into_iter().flatten().filter_map(toml::Value::as_str);
        let python = table.get("requires-python").and_then(toml::Value::as_str);
        let python = python.and_then(|text| text.trim().strip_prefix("==")?.strip_suffix(".*"));
        Self {
            dependencies: dependencies.map(str::to_owned).collect(),
            python: python.map(|text| text.trim().to_owned()),
        }
    }

    /// The requirements with one release of a package in the place of what the block says of it.
    pub fn with(&self, package: &str, release: &str) -> Vec<String> {
        let others = self
            .dependencies
            .iter()
            .filter(|one| normal_name(name_of(one)) != normal_name(package));
        others.cloned().chain([format!("{package}=={release}")]).collect()
    }
}

/// The name in front of a requirement: `Pkg-A[x]>=1` is of `Pkg-A`.
fn name_of(requirement: &str) -> &str {
    let end = requirement.find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.')));
    &requirement[..end.unwrap_or(requirement.len())]
}

/// Makes an environment with what a file needs. `directory` has the file and nothing else.
///
/// # Errors
/// [`Exit::Environment`] if the requirements cannot be installed.
pub fn environment_of_file(
    directory: &Path,
    requirements: &[String],
    python: Option<&str>,
    around: &Surroundings,
    sandbox: &dyn Sandbox,
    progress: &ProgressLine,
) -> Result<Environment, Failure> {
    // A project with these requirements: what makes environments of repositories makes this one. The file itself is no
    // part of it, since a repository has no output of gistify.
    let quoted: Vec<String> =
        requirements.iter().map(|one| toml::Value::from(one.as_str()).to_string()).collect();
    let project = format!(
        "[project]\nname = \"one-file\"\nversion = \"0\"\ndependencies = [{}]\n",
        quoted.join(", ")
    );
    let place = directory.join(".environment");
    fs::create_dir_all(&place).or_exit(Exit::Infrastructure)?;
    fs::write(place.join("pyproject.toml"), project).or_exit(Exit::Infrastructure)?;
    fs::write(place.join("one_file.py"), "").or_exit(Exit::Infrastructure)?;
    let repository = Repository::of_directory(&place).or_exit(Exit::Infrastructure)?;
    let request = ProvisionRequest {
        repository: &repository,
        host: &around.host,
        python: python.and_then(version),
        lock: None,
        pythonpath: Some(&[]),
        rebuild: false,
    };
    let sign = |sign: tools::Progress<'_>| progress.sign(sign);
    Environment::provision(&request, around.store()?, sandbox, &sign).map_err(of_environment)
}

/// A directory with one file, in which programs run.
#[derive(Clone, Copy)]
pub struct FilePlace<'a> {
    /// The interpreter and its packages.
    pub environment: &'a Environment,
    /// Isolates the runs.
    pub sandbox: &'a dyn Sandbox,
    /// The current directory of the runs.
    pub directory: &'a Path,
}

impl FilePlace<'_> {
    /// Runs a command there, with the variables of an ordinary shell.
    ///
    /// # Errors
    /// The run cannot start, or was interrupted.
    pub fn run(
        &self,
        command: &str,
        workspace: &mut Workspace,
        around: &Surroundings,
    ) -> Result<Execution, Failure> {
        let command = Command::parse(command).or_exit(Exit::Infrastructure)?;
        let scratch = workspace.directory("scratch").or_exit(Exit::Infrastructure)?;
        let run = execute(&RunSpec {
            sandbox: self.sandbox,
            environment: self.environment,
            command: &command,
            directory: self.directory,
            scratch: &scratch,
            limits: around.settings.command.limits(),
            hash_seed: 0,
            variables: &BTreeMap::new(),
            absent: &[],
            max_failures: None,
            link: None,
            around: Around { shell: Shell::Ordinary, ..Around::default() },
        });
        workspace.discard(&scratch);
        match run {
            Ok(run) if run.status == Status::Interrupted => {
                Err(Failure::new(Exit::Interrupted, "interrupted"))
            }
            Ok(run) => Ok(run),
            Err(error) => Err(around.stopped(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_a_file_needs() {
        let text = "# Expected: x\n\n# /// script\n# requires-python = \"==3.12.*\"\n\
                    # dependencies = [\n#     \"Pkg_A==1.0\",\n#     \"other>=2\",\n# ]\n# ///\nimport pkg\n";
        let needs = Needs::of(text);
        assert_eq!(needs.python.as_deref(), Some("3.12"));
        assert_eq!(needs.with("pkg-a", "1.1"), ["other>=2", "pkg-a==1.1"]);
        assert_eq!(Needs::of("import pkg\n"), Needs::default());
    }
}
