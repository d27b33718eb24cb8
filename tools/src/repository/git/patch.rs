//! Makes and checks git patches of a repository, in a directory of our own: the repository is only read.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    io::Read,
    os::unix::fs::PermissionsExt,
    path::Path,
};

use graph::open_beneath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Git, GitRequest, GitSource};
use crate::{
    patch::{UnifiedDiff, is_inside, link_above, replace_file},
    repository::RepositoryError,
    sandbox::Network,
};

/// The class of a patch on a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "class", rename_all = "snake_case")]
pub enum PatchCheck {
    /// git applies it.
    Applies,
    /// It has no change.
    Empty,
    /// It is no patch.
    Malformed {
        /// The reason.
        reason: String,
    },
    /// It touches a file outside of the repository, behind a symbolic link, or one of git's own.
    Outside {
        /// The path, or the message of git.
        reason: String,
    },
    /// The files are not those that it expects.
    DoesNotApply {
        /// The message of git.
        reason: String,
    },
}

impl PatchCheck {
    /// Its name in records and tables.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Applies => "applies",
            Self::Empty => "empty",
            Self::Malformed { .. } => "malformed",
            Self::Outside { .. } => "outside",
            Self::DoesNotApply { .. } => "does_not_apply",
        }
    }

    /// The reason of a class that has one.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Applies | Self::Empty => None,
            Self::Malformed { reason }
            | Self::Outside { reason }
            | Self::DoesNotApply { reason } => Some(reason),
        }
    }
}

/// The name of a given patch in the scratch directory.
const PATCH: &str = "given.patch";

/// Makes the patch by which files get these texts. Without a change it is empty.
///
/// # Errors
/// Git is missing or fails, or a file cannot be read.
pub fn patch_of(
    request: &GitRequest<'_>,
    texts: &BTreeMap<String, String>,
) -> Result<String, RepositoryError> {
    let paths: BTreeSet<&str> = texts.keys().map(String::as_str).collect();
    Desk::new(request)?.with(|desk, git| {
        desk.lay_out(&paths)?;
        let kept = desk.keep(git)?;
        for (path, text) in texts {
            desk.write(path, text.as_bytes(), None)?;
        }
        desk.difference(git, &kept)
    })
}

/// Finds the class of a patch, and changes nothing.
///
/// # Errors
/// Git is missing or fails otherwise than over the patch.
pub fn check_patch(request: &GitRequest<'_>, patch: &str) -> Result<PatchCheck, RepositoryError> {
    tried(request, patch, None).map(|(class, _)| class)
}

/// The same change as git itself would write it, so that two patches of one change have the same places.
///
/// # Errors
/// Git is missing or fails otherwise than over the patch.
pub fn normal_patch(
    request: &GitRequest<'_>,
    patch: &str,
) -> Result<Result<String, PatchCheck>, RepositoryError> {
    let (class, normal) = tried(request, patch, None)?;
    Ok(match class {
        PatchCheck::Applies => Ok(normal),
        class => Err(class),
    })
}

/// Applies a patch to `copy`, which has the repository's files, and returns the change as git writes it. A patch of any
/// other class changes nothing. No process may write to the copy meanwhile.
///
/// # Errors
/// Git is missing or fails otherwise than over the patch, or a file of the copy cannot be written.
pub fn apply_patch(
    request: &GitRequest<'_>,
    patch: &str,
    copy: &Path,
) -> Result<Result<String, PatchCheck>, RepositoryError> {
    let (class, normal) = tried(request, patch, Some(copy))?;
    Ok(match class {
        PatchCheck::Applies => Ok(normal),
        class => Err(class),
    })
}

/// Applies a patch to copies of its files; gives its class, and the change as git writes it. The changed files go into
/// `copy` as well, if there is one.
fn tried(
    request: &GitRequest<'_>,
    patch: &str,
    copy: Option<&Path>,
) -> Result<(PatchCheck, String), RepositoryError> {
    let done = |class| Ok((class, String::new()));
    if patch.trim().is_empty() {
        return done(PatchCheck::Empty);
    }
    let diff = match UnifiedDiff::parse(patch) {
        Ok(diff) => diff,
        Err(error) => return done(PatchCheck::Malformed { reason: error.to_string() }),
    };
    let paths = diff.paths();
    if let Some(path) = paths.iter().find(|path| !is_inside(path)) {
        return done(PatchCheck::Outside { reason: (*path).to_owned() });
    }
    if let Some(link) = paths.iter().find_map(|path| link_above(request.root, path)) {
        return done(PatchCheck::Outside { reason: format!("{link} is a symbolic link") });
    }
    Desk::new(request)?.with(|desk, git| {
        desk.lay_out(&paths)?;
        let kept = desk.keep(git)?;
        let given = desk.scratch.path().join(PATCH);
        fs::write(&given, ended(patch)).map_err(|source| desk.failed(source))?;
        let given = given.to_string_lossy().into_owned();
        let apply = |more: &[&str]| {
            let args = [&["apply", "--whitespace=nowarn"], more, &["--", &given]].concat();
            git.refusal(&args, Network::Loopback)
        };
        // The first only reads the patch, the second changes all files or none.
        if let Some(reason) = apply(&["--numstat"])? {
            return done(PatchCheck::Malformed { reason });
        }
        if let Some(reason) = apply(&[])? {
            let is_outside = reason.starts_with("invalid path");
            return done(match is_outside {
                true => PatchCheck::Outside { reason },
                false => PatchCheck::DoesNotApply { reason },
            });
        }
        let normal = desk.difference(git, &kept)?;
        if normal.is_empty() {
            return done(PatchCheck::Empty);
        }
        if let Some(copy) = copy {
            let changed = desk.changed(git, &kept)?;
            if let Some(link) = changed.iter().find_map(|path| link_above(copy, path)) {
                return done(PatchCheck::Outside { reason: format!("{link} is a symbolic link") });
            }
            changed.iter().try_for_each(|path| desk.carry(path, copy))?;
        }
        Ok((PatchCheck::Applies, normal))
    })
}

/// A patch that ends in a line break, without which git takes its last line for cut.
fn ended(patch: &str) -> String {
    match patch.ends_with('\n') {
        true => patch.to_owned(),
        false => format!("{patch}\n"),
    }
}

/// A directory in which git has copies of some files of a repository.
struct Desk<'a> {
    request: &'a GitRequest<'a>,
    scratch: tempfile::TempDir,
}

impl<'a> Desk<'a> {
    fn new(request: &'a GitRequest<'a>) -> Result<Self, RepositoryError> {
        let failed = |source| RepositoryError::Read { path: request.scratch.to_path_buf(), source };
        let scratch = tempfile::tempdir_in(request.scratch).map_err(failed)?;
        Ok(Self { request, scratch })
    }

    /// Does something with a git directory that has no commit.
    fn with<T>(
        &self,
        act: impl FnOnce(&Self, &Git<'_>) -> Result<T, RepositoryError>,
    ) -> Result<T, RepositoryError> {
        // An address that is never asked: git begins with an empty directory.
        let origin = GitSource::Remote(String::new());
        let GitRequest { host, sandbox, .. } = *self.request;
        let git = Git::new(&origin, host, sandbox, self.scratch.path())?;
        fs::create_dir_all(git.work_tree()).map_err(|source| self.failed(source))?;
        act(self, &git)
    }

    fn failed(&self, source: io::Error) -> RepositoryError {
        RepositoryError::Read { path: self.scratch.path().to_path_buf(), source }
    }

    /// Copies files and links of the repository, as far as there are.
    fn lay_out(&self, paths: &BTreeSet<&str>) -> Result<(), RepositoryError> {
        let root = self.request.root;
        for path in paths {
            let failed = |source| RepositoryError::Read { path: root.join(path), source };
            match root.join(path).symlink_metadata() {
                Ok(there) if there.is_symlink() => {
                    let target = root.join(path).read_link().map_err(failed)?;
                    self.link(path, &target)?;
                    continue;
                }
                Ok(there) if there.is_file() => {}
                _ => continue,
            }
            let mut file = open_beneath(root, Path::new(path)).map_err(failed)?;
            let mode = file.metadata().map_err(failed)?.permissions().mode();
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(failed)?;
            self.write(path, &bytes, Some(mode))?;
        }
        Ok(())
    }

    /// Makes a symbolic link of the work tree, which git compares and nothing follows.
    fn link(&self, path: &str, target: &Path) -> Result<(), RepositoryError> {
        let whole = self.scratch.path().join("tree").join(path);
        let make = || {
            if let Some(parent) = whole.parent() {
                fs::create_dir_all(parent)?;
            }
            std::os::unix::fs::symlink(target, &whole)
        };
        make().map_err(|source| RepositoryError::Read { path: whole.clone(), source })
    }

    /// Writes a file of the work tree.
    fn write(&self, path: &str, bytes: &[u8], mode: Option<u32>) -> Result<(), RepositoryError> {
        let whole = self.scratch.path().join("tree").join(path);
        let write = || {
            if let Some(parent) = whole.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(&whole, bytes)?;
            match mode {
                Some(mode) => {
                    let mode = if mode & 0o111 == 0 { 0o644 } else { 0o755 };
                    fs::set_permissions(&whole, fs::Permissions::from_mode(mode))
                }
                None => Ok(()),
            }
        };
        write().map_err(|source| RepositoryError::Read { path: whole.clone(), source })
    }

    /// Takes the work tree as the state before the change, and returns its name.
    fn keep(&self, git: &Git<'_>) -> Result<String, RepositoryError> {
        git.run(&["add", "--all", "--force"], Network::Loopback)?;
        let tree = git.run(&["write-tree"], Network::Loopback)?;
        Ok(String::from_utf8_lossy(&tree).trim().to_owned())
    }

    /// The paths that the work tree changed since then; [`Desk::difference`] has to be called before.
    fn changed(&self, git: &Git<'_>, kept: &str) -> Result<Vec<String>, RepositoryError> {
        let args = ["diff", "--cached", "--name-only", "-z", "--no-renames", kept];
        let names = git.run(&args, Network::Loopback)?;
        let names = names.split(|&byte| byte == 0).filter(|name| !name.is_empty());
        let name = |name: &[u8]| {
            let name = String::from_utf8(name.to_vec());
            name.map_err(|_| git.git_error("the name of a changed file is no text in UTF-8"))
        };
        names.map(name).collect()
    }

    /// Puts a file of the work tree, or its absence, into another directory.
    fn carry(&self, path: &str, copy: &Path) -> Result<(), RepositoryError> {
        let (from, into) = (self.scratch.path().join("tree").join(path), copy.join(path));
        replace_file(&from, &into, copy)
            .map_err(|source| RepositoryError::Read { path: into.clone(), source })
    }

    /// The change of the work tree since then.
    fn difference(&self, git: &Git<'_>, kept: &str) -> Result<String, RepositoryError> {
        git.run(&["add", "--all", "--force"], Network::Loopback)?;
        let args = [
            "diff",
            "--cached",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
            "--full-index",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            kept,
        ];
        let bytes = git.run(&args, Network::Loopback)?;
        String::from_utf8(bytes).map_err(|_| git.git_error("the change is no text in UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        host::Host,
        sandbox::{Interrupt, LocalSandbox},
    };

    /// Does something with a repository of two files, one of which is a program.
    fn with<T>(act: impl FnOnce(&GitRequest<'_>) -> T) -> T {
        let outer = tempfile::tempdir().unwrap();
        let (root, scratch) = (outer.path().join("repo"), outer.path().join("scratch"));
        fs::create_dir_all(root.join("pkg")).unwrap();
        fs::create_dir(&scratch).unwrap();
        fs::write(root.join("pkg/a.py"), "a = 1\nb = 2\nc = 3\n").unwrap();
        fs::write(root.join("run.sh"), "echo\r\nls").unwrap();
        fs::set_permissions(root.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        let host = Host::from_variables(std::env::vars());
        let sandbox = LocalSandbox::new(Interrupt::new());
        let request = GitRequest { root: &root, host: &host, sandbox: &sandbox, scratch: &scratch };
        let done = act(&request);
        assert_eq!(fs::read_to_string(root.join("pkg/a.py")).unwrap(), "a = 1\nb = 2\nc = 3\n");
        assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0, "something is left");
        assert_eq!(fs::read_dir(&root).unwrap().count(), 2);
        done
    }

    #[test]
    fn texts_become_a_patch_of_git() {
        let texts = [
            ("pkg/a.py", "a = 1\nb = 3\nc = 3\n"),
            ("new/é.py", "x = 1\n"),
            ("run.sh", "echo\r\nls -l"),
        ];
        let texts = texts.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
        let patch = with(|request| {
            let patch = patch_of(request, &texts).unwrap();
            assert_eq!(check_patch(request, &patch).unwrap(), PatchCheck::Applies);
            assert_eq!(normal_patch(request, &patch).unwrap().unwrap(), patch);
            patch
        });
        assert!(patch.contains(
            "--- a/pkg/a.py\n+++ b/pkg/a.py\n@@ -1,3 +1,3 @@\n a = 1\n-b = 2\n+b = 3\n c = 3\n"
        ));
        assert!(
            patch.contains(" 100755\n") && patch.contains("\n echo\r\n-ls\n\\ No newline"),
            "{patch}"
        );
        assert!(patch.contains("new file mode 100644"), "{patch}");
        let same = [("pkg/a.py".to_owned(), "a = 1\nb = 2\nc = 3\n".to_owned())].into();
        assert_eq!(with(|request| patch_of(request, &same).unwrap()), "");
    }

    #[test]
    fn every_bad_patch_has_a_class_of_its_own() {
        let head = "--- a/pkg/a.py\n+++ b/pkg/a.py\n";
        let cases = [
            ("applies", format!("{head}@@ -1,3 +1,3 @@\n a = 1\n-b = 2\n+b = 3\n c = 3\n")),
            ("applies", format!("{head}@@ -1,3 +1,3 @@\n a = 1\n-b = 2\n+b = 3\n c = 3")),
            (
                "applies",
                "diff --git a/pkg/a.py b/b.py\nrename from pkg/a.py\nrename to b.py\n".to_owned(),
            ),
            (
                "applies",
                "--- a/pkg/a.py\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-a = 1\n-b = 2\n-c = 3\n"
                    .to_owned(),
            ),
            ("empty", String::new()),
            ("empty", " \n\n".to_owned()),
            ("malformed", "Change line 2.\n".to_owned()),
            ("malformed", head.to_owned()),
            (
                "malformed",
                format!("{head}@@ -2 +2 @@\n-b = 2\n+b = 3\n+c = 4\n!\n@@ -9,4 +9 @@\n-x\n"),
            ),
            ("outside", "--- a/../x.py\n+++ b/../x.py\n@@ -1 +1 @@\n-x\n+y\n".to_owned()),
            ("outside", "--- /dev/null\n+++ b//etc/x\n@@ -0,0 +1 @@\n+y\n".to_owned()),
            ("outside", "--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+y\n".to_owned()),
            ("does_not_apply", format!("{head}@@ -2 +2 @@\n-b = 9\n+b = 3\n")),
            ("does_not_apply", "--- a/none.py\n+++ b/none.py\n@@ -1 +1 @@\n-x\n+y\n".to_owned()),
            ("does_not_apply", "--- /dev/null\n+++ b/pkg/a.py\n@@ -0,0 +1 @@\n+y\n".to_owned()),
        ];
        with(|request| {
            for (class, patch) in &cases {
                let found = check_patch(request, patch).unwrap();
                assert_eq!(found.name(), *class, "{patch}: {found:?}");
            }
        });
    }

    #[test]
    fn a_patch_changes_a_copy_and_nothing_else() {
        let patch = "--- a/pkg/a.py\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-a = 1\n-b = 2\n-c = 3\n\
                     --- /dev/null\n+++ b/new/b.py\n@@ -0,0 +1 @@\n+x\n";
        let wrong = format!("{patch}--- a/run.sh\n+++ b/run.sh\n@@ -1 +1 @@\n-x\n+y\n");
        with(|request| {
            let copy = request.scratch.parent().unwrap().join("copy");
            fs::create_dir(&copy).unwrap();
            crate::workspace::copy_tree(request.root, &copy).unwrap();
            let refused = apply_patch(request, &wrong, &copy).unwrap().unwrap_err();
            assert_eq!(refused.name(), "does_not_apply");
            assert!(copy.join("pkg/a.py").exists() && !copy.join("new").exists());
            let normal = apply_patch(request, patch, &copy).unwrap().unwrap();
            assert!(normal.contains("deleted file mode 100644"), "{normal}");
            assert!(!copy.join("pkg/a.py").exists());
            assert_eq!(fs::read_to_string(copy.join("new/b.py")).unwrap(), "x\n");
            // A directory of the copy that became a link leads out of it.
            fs::remove_dir_all(copy.join("new")).unwrap();
            std::os::unix::fs::symlink(request.root, copy.join("new")).unwrap();
            let refused = apply_patch(request, patch, &copy).unwrap().unwrap_err();
            assert_eq!(refused.name(), "outside");
        });
    }

    #[test]
    fn links_are_changed_and_not_followed() {
        let new = "new file mode 100644\n--- /dev/null\n+++ b/PATH\n@@ -0,0 +1 @@\n+y\n";
        let new =
            |path: &str| format!("diff --git a/{path} b/{path}\n{}", new.replace("PATH", path));
        let link = "diff --git a/link b/link\nindex 1..2 120000\n--- a/link\n+++ b/link\n@@ -1 +1 @@\n-run.sh\n\\ No newline at end of file\n+pkg\n\\ No newline at end of file\n";
        with(|request| {
            let link_to = |target: &str, name: &str| {
                std::os::unix::fs::symlink(target, request.root.join("pkg").join(name)).unwrap();
            };
            link_to("run.sh", "link");
            link_to("..", "up");
            let link = link.replace("/link", "/pkg/link");
            for (class, patch) in [
                ("applies", link.clone()),
                ("does_not_apply", link.replace("-run.sh", "-run")),
                ("outside", new("pkg/up/new.py")),
                ("applies", new("pkg/new.py")),
            ] {
                let found = check_patch(request, &patch).unwrap();
                assert_eq!(found.name(), class, "{patch}: {found:?}");
            }
            fs::remove_file(request.root.join("pkg/link")).unwrap();
            fs::remove_file(request.root.join("pkg/up")).unwrap();
        });
    }
}
