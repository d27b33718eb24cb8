//! Opens git repositories at a revision.
//!
//! Git runs in the sandbox, and never with a configuration by somebody else. For a repository on
//! this machine we create a git directory that borrows its objects and copies its references, so
//! that git ignores its hooks, filters, monitors and included files. Other machines are reached by
//! `http`, `https` and `git` alone, without the user's keys.

mod history;
mod patch;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

pub(super) use history::history;
pub use patch::{PatchCheck, apply_patch, check_patch, normal_patch, patch_of};

use super::{OpenOptions, RepositoryError, scratch};
use crate::{
    archive::UnpackLimits,
    cache::{CacheKind, key},
    host::Host,
    progress::Progress,
    sandbox::{Finished, Limits, Network, Request, Sandbox, Status},
    snapshot::open_regular,
    workspace::copy_tree,
};

/// A place that git gets a repository from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GitSource {
    /// A work tree or bare repository on this machine.
    Local(PathBuf),
    /// An address.
    Remote(String),
}

/// A repository as it lies on this machine, and the means to ask git about it.
#[derive(Clone, Copy)]
pub struct GitRequest<'a> {
    /// Root of the repository's files.
    pub root: &'a Path,
    /// The user's machine.
    pub host: &'a Host,
    /// Runs git.
    pub sandbox: &'a dyn Sandbox,
    /// An existing directory for git's files; a new one is created in it, and removed.
    pub scratch: &'a Path,
}

/// The files of a repository at a revision, in the cache, and the full name of the commit.
pub(super) fn checked_out(
    origin: &GitSource,
    revision: &str,
    options: &OpenOptions<'_>,
) -> Result<(PathBuf, String), RepositoryError> {
    let scratch = scratch(options.cache)?;
    let git = Git::new(origin, options.host, options.sandbox, scratch.path())?;
    let place = match origin {
        GitSource::Local(path) => path.canonicalize().unwrap_or(path.clone()).display().to_string(),
        GitSource::Remote(url) => url.clone(),
    };
    let commit = git.resolve(revision)?;
    let short = place.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let label = format!("{}@{commit}", short.trim_end_matches(".git"));
    let name = key(&label, &["git", &place, &commit]);
    let root = options.cache.get_or_make(CacheKind::Repository, &name, &label, |into| {
        (options.progress)(Progress::Step(&format!("checking out {label}")));
        git.check_out(&commit, into, &UnpackLimits::default())
    })?;
    Ok((root, commit))
}

/// Git, as it is run for one repository.
struct Git<'a> {
    program: PathBuf,
    host: &'a Host,
    sandbox: &'a dyn Sandbox,
    /// A directory of ours with everything that is written.
    scratch: &'a Path,
    origin: &'a GitSource,
    /// The repository's own objects, that ours borrow.
    objects: Option<PathBuf>,
}

/// Git's answer with what it printed.
type Answer = Result<Vec<u8>, RepositoryError>;

/// CPU time for listing the files of a commit; one of a few hundred thousand files takes less.
const LISTING: Duration = Duration::from_secs(5);
const GIT_DIRECTORY: &str = "git";

impl<'a> Git<'a> {
    /// Prepares a git directory of our own in `scratch`.
    fn new(
        origin: &'a GitSource,
        host: &'a Host,
        sandbox: &'a dyn Sandbox,
        scratch: &'a Path,
    ) -> Result<Git<'a>, RepositoryError> {
        let program = host.find("git").ok_or(RepositoryError::NoGit)?;
        let mut git = Git { program, host, sandbox, scratch, origin, objects: None };
        let own = scratch.join(GIT_DIRECTORY);
        let objects = match origin {
            GitSource::Local(path) => Some(borrow(path, &own)),
            GitSource::Remote(_) => None,
        };
        match objects {
            Some(objects) => {
                let failed = |source| git.read_error(source);
                git.objects = Some(objects.map_err(failed)?);
            }
            None => {
                git.run(&["init", "--quiet", "--bare", "--template=", "."], Network::Loopback)?;
            }
        }
        Ok(git)
    }

    /// Returns the full name of the commit of a revision. For an address this queries the server,
    /// unless the revision is a full name already.
    fn resolve(&self, revision: &str) -> Result<String, RepositoryError> {
        let unknown = || RepositoryError::NoRevision {
            repository: self.name(),
            revision: revision.to_owned(),
        };
        if revision.is_empty() || revision.starts_with('-') || revision.contains(['\0', '\n', ':'])
        {
            return Err(unknown());
        }
        match self.origin {
            GitSource::Local(_) => {
                let commit = format!("{revision}^{{commit}}");
                let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &commit];
                match self.run(&args, Network::Loopback) {
                    Ok(name) => Ok(String::from_utf8_lossy(&name).trim().to_owned()),
                    Err(RepositoryError::Git { .. }) => Err(unknown()),
                    Err(error) => Err(error),
                }
            }
            GitSource::Remote(_) if is_full_name(revision) => Ok(revision.to_lowercase()),
            GitSource::Remote(url) => {
                let tag = format!("{revision}^{{}}");
                let args = ["ls-remote", "--quiet", "--", url, revision, &tag];
                let answer = self.run(&args, Network::Host)?;
                best_reference(&String::from_utf8_lossy(&answer), revision).ok_or_else(unknown)
            }
        }
    }

    /// Puts the files of a commit into the empty directory `into`.
    fn check_out(
        &self,
        commit: &str,
        into: &Path,
        limits: &UnpackLimits,
    ) -> Result<(), RepositoryError> {
        if let GitSource::Remote(url) = self.origin {
            let fetch = |more: &[&str]| {
                let args = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules"];
                let args: Vec<&str> = args.iter().chain(more).copied().collect();
                self.run(&args, Network::Host)
            };
            // Not every server gives a commit by its name.
            let all = "+refs/*:refs/*";
            fetch(&["--depth=1", "--", url, commit]).or_else(|_| fetch(&["--", url, all]))?;
        }
        self.look_at_size(commit, limits)?;
        self.run(&["read-tree", commit], Network::Loopback)?;
        self.run(&["checkout-index", "--all", "--force", "--quiet"], Network::Loopback)?;
        let tree = self.work_tree();
        copy_tree(&tree, into).map_err(|(path, source)| RepositoryError::Read { path, source })
    }

    /// Refuses a commit that is small as objects and huge as files.
    fn look_at_size(&self, commit: &str, limits: &UnpackLimits) -> Result<(), RepositoryError> {
        let args = ["ls-tree", "-r", "-l", "-z", "--full-tree", commit];
        let limited = Limits { cpu: LISTING, ..run_limits() };
        let finished = self.execute(&args, Network::Loopback, limited)?;
        let endless = finished.status == Status::TimedOut || finished.stdout.dropped > 0;
        let answer = if endless { Vec::new() } else { self.answer(finished)? };
        let (mut files, mut bytes) = (0_u64, 0_u64);
        for line in answer.split(|&byte| byte == 0).filter(|line| !line.is_empty()) {
            files += 1;
            // Mode, kind, name, size; a commit of another repository has no size.
            let line = String::from_utf8_lossy(line);
            let size = line.split_whitespace().nth(3).and_then(|size| size.parse::<u64>().ok());
            bytes = bytes.saturating_add(size.unwrap_or(0));
        }
        if endless || files > limits.entries || bytes > limits.bytes {
            return Err(RepositoryError::TooLarge {
                repository: self.name(),
                files: limits.entries,
                bytes: limits.bytes,
            });
        }
        Ok(())
    }

    fn run(&self, args: &[&str], network: Network) -> Answer {
        self.answer(self.execute(args, network, run_limits())?)
    }

    fn execute(
        &self,
        args: &[&str],
        network: Network,
        limits: Limits,
    ) -> Result<Finished, RepositoryError> {
        const SETTINGS: [&str; 10] = [
            "core.hooksPath=/dev/null",
            "core.fsmonitor=false",
            "core.untrackedCache=false",
            "core.attributesFile=/dev/null",
            "core.symlinks=true",
            "gc.auto=0",
            "maintenance.auto=false",
            "protocol.ext.allow=never",
            "safe.directory=*",
            "credential.helper=",
        ];
        let failed = |source| RepositoryError::Read { path: self.scratch.to_path_buf(), source };
        let (own, tree) = (self.scratch.join(GIT_DIRECTORY), self.work_tree());
        let home = self.scratch.join("home");
        for directory in [&own, &tree, &home] {
            fs::create_dir_all(directory).map_err(failed)?;
        }
        let mut all: Vec<OsString> = Vec::new();
        for setting in SETTINGS {
            all.extend(["-c", setting].map(OsString::from));
        }
        if args.first() == Some(&"init") {
            all.extend(["-C".into(), own.clone().into_os_string()]);
        } else {
            for (option, value) in [("--git-dir=", &own), ("--work-tree=", &tree)] {
                let mut option = OsString::from(option);
                option.push(value);
                all.push(option);
            }
        }
        all.extend(args.iter().map(OsString::from));
        let mut env: BTreeMap<String, String> = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("LC_ALL", "C.UTF-8"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_SYSTEM", "/dev/null"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ASKPASS", "/bin/false"),
            ("GIT_ALLOW_PROTOCOL", "http:https:git"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        env.insert("HOME".to_owned(), home.display().to_string());
        if network == Network::Host {
            for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
                if let Some(value) = self.host.variable(name) {
                    env.insert(name.to_lowercase(), value.to_owned());
                }
            }
            let bundles = ["GIT_SSL_CAINFO", "SSL_CERT_FILE", "PIP_CERT"];
            let bundle = bundles.iter().find_map(|name| self.host.variable(name));
            if let Some(bundle) = bundle.filter(|bundle| Path::new(bundle).is_file()) {
                env.insert("GIT_SSL_CAINFO".to_owned(), bundle.to_owned());
            }
        }
        let mut readable = self.host.named_paths();
        readable.extend(self.program.parent().map(Path::to_path_buf));
        readable.extend(self.objects.clone());
        Ok(self.sandbox.run(&Request {
            program: self.program.clone(),
            args: all,
            cwd: tree,
            env,
            readable,
            writable: vec![self.scratch.to_path_buf()],
            hidden: Vec::new(),
            network,
            limits,
        })?)
    }

    /// Returns the output of git if it succeeded.
    fn answer(&self, finished: Finished) -> Answer {
        match finished.status {
            Status::Exited(0) => Ok(finished.stdout.bytes),
            Status::Interrupted => Err(RepositoryError::Interrupted),
            Status::TimedOut => Err(self.git_error("it takes too long")),
            Status::OutOfMemory => Err(self.git_error("it needs too much memory")),
            Status::Exited(_) | Status::Signaled(_) => {
                Err(self.git_error(&first_message(&finished)))
            }
        }
    }

    /// Runs git, and returns its message if it ends with an exit code other than 0.
    ///
    /// # Errors
    /// It ends in another way: its time or memory is used up, or a signal ends it.
    fn refusal(&self, args: &[&str], network: Network) -> Result<Option<String>, RepositoryError> {
        let finished = self.execute(args, network, run_limits())?;
        match finished.status {
            Status::Exited(code) if code != 0 => Ok(Some(first_message(&finished))),
            _ => self.answer(finished).map(|_| None),
        }
    }

    fn work_tree(&self) -> PathBuf {
        self.scratch.join("tree")
    }

    fn name(&self) -> String {
        match self.origin {
            GitSource::Local(path) => path.display().to_string(),
            GitSource::Remote(url) => match reqwest::Url::parse(url) {
                Ok(url) => super::download::without_secrets(&url),
                Err(_) => "the repository".to_owned(),
            },
        }
    }

    fn git_error(&self, reason: &str) -> RepositoryError {
        RepositoryError::Git { repository: self.name(), reason: reason.to_owned() }
    }

    fn read_error(&self, source: io::Error) -> RepositoryError {
        RepositoryError::Git { repository: self.name(), reason: source.to_string() }
    }
}

/// The first line that git wrote about a failure.
fn first_message(finished: &Finished) -> String {
    let text = finished.stderr.text();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("git failed");
    let line = line.trim_start_matches("fatal: ").trim_start_matches("error: ");
    line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Makes a git directory at `own` that has the references and borrows the objects of the repository
/// at `path`; gives the directory of its objects. Nothing that could name a program is taken over.
fn borrow(path: &Path, own: &Path) -> io::Result<PathBuf> {
    let (head, common) = git_directories(path)?;
    let objects = common.join("objects").canonicalize()?;
    for directory in ["objects/info", "refs"] {
        fs::create_dir_all(own.join(directory))?;
    }
    let config = read_small(&common.join("config")).unwrap_or_default();
    let format = setting(&config, "objectformat").filter(|value| value == "sha256");
    let storage = setting(&config, "refstorage").filter(|value| value == "reftable");
    let mut text = "[core]\n\tbare = false\n".to_owned();
    let extensions = [("objectformat", &format), ("refstorage", &storage)];
    if extensions.iter().any(|(_, value)| value.is_some()) {
        text.push_str("\trepositoryformatversion = 1\n[extensions]\n");
        for (name, value) in extensions {
            if let Some(value) = value {
                text.push_str(&format!("\t{name} = {value}\n"));
            }
        }
    } else {
        text.push_str("\trepositoryformatversion = 0\n");
    }
    fs::write(own.join("config"), text)?;
    let Some(objects_text) = objects.to_str().filter(|text| !text.contains(['\n', '"'])) else {
        return Err(io::Error::other("its path cannot be borrowed from"));
    };
    fs::write(own.join("objects/info/alternates"), format!("{objects_text}\n"))?;
    for (directory, name) in [(&head, "HEAD"), (&common, "packed-refs"), (&common, "shallow")] {
        match read_small(&directory.join(name)) {
            Ok(text) => fs::write(own.join(name), text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound && name != "HEAD" => {}
            Err(error) => return Err(error),
        }
    }
    for name in ["refs", "reftable"] {
        let from = common.join(name);
        if from.is_dir() && !from.is_symlink() {
            let into = own.join(name);
            fs::create_dir_all(&into)?;
            copy_tree(&from, &into).map_err(|(_, error)| error)?;
        }
    }
    Ok(objects)
}

/// The git directories of a repository: of its work tree, and the one that work trees share.
fn git_directories(path: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let dot = path.join(".git");
    let head = if dot.is_dir() {
        dot
    } else if dot.is_file() {
        let text = read_small(&dot)?;
        let target = text.trim().strip_prefix("gitdir:").map(str::trim);
        path.join(target.ok_or_else(|| io::Error::other("its .git file is malformed"))?)
    } else if path.join("HEAD").is_file() && path.join("objects").is_dir() {
        path.to_path_buf()
    } else {
        return Err(io::Error::other("it is no git repository"));
    };
    let common = match read_small(&head.join("commondir")) {
        Ok(text) => head.join(text.trim()),
        Err(_) => head.clone(),
    };
    Ok((head, common))
}

/// The text of a file of git's, which is never large.
fn read_small(path: &Path) -> io::Result<String> {
    const LARGEST: u64 = 64 << 20;
    let (file, _) = open_regular(path)?;
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(file, LARGEST), &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A value of git's configuration, by the last part of its name.
fn setting(config: &str, name: &str) -> Option<String> {
    let mut pairs = config.lines().filter_map(|line| line.split_once('='));
    let found = pairs.find(|(key, _)| key.trim().eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim().to_lowercase())
}

/// Picks what a revision means from a list of references, as git itself does.
fn best_reference(list: &str, revision: &str) -> Option<String> {
    let references: Vec<(&str, &str)> =
        list.lines().filter_map(|line| line.split_once('\t')).collect();
    let find = |name: &str| {
        let found = references.iter().find(|(_, reference)| *reference == name);
        found.map(|(commit, _)| (*commit).to_owned()).filter(|commit| is_full_name(commit))
    };
    let places = ["", "refs/", "refs/tags/", "refs/heads/"];
    let mut names = places.iter().map(|place| format!("{place}{revision}"));
    // An annotated tag is an object of its own; `^{}` is the commit behind it.
    names.find_map(|name| find(&format!("{name}^{{}}")).or_else(|| find(&name)))
}

fn is_full_name(revision: &str) -> bool {
    matches!(revision.len(), 40 | 64) && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn run_limits() -> Limits {
    Limits {
        wall: Duration::from_secs(1800),
        cpu: Duration::from_secs(900),
        memory: 4 << 30,
        processes: 256,
        output: 64 << 20,
        file: 8 << 30,
        disk: 64 << 30,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_picked_as_git_does() {
        let name = |digit: &str| digit.repeat(40);
        let list = format!(
            "{}\trefs/heads/v1\n{}\trefs/tags/v1\n{}\trefs/tags/v1^{{}}\n{}\trefs/heads/main\n",
            name("1"),
            name("2"),
            name("3"),
            name("4")
        );
        assert_eq!(best_reference(&list, "v1"), Some(name("3")));
        assert_eq!(best_reference(&list, "main"), Some(name("4")));
        assert_eq!(best_reference(&list, "heads/v1"), Some(name("1")));
        assert_eq!(best_reference(&list, "ain"), None);
        assert_eq!(best_reference("warning: x\trefs/heads/main", "main"), None);
    }
}
