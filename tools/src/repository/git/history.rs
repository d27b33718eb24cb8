//! Reads the history of each Python file of a work tree: the number of changes and the time of the
//! last one. Uses one `git log`, in the sandbox.
//!
//! It ignores authors and messages. A tree outside of git has no history, which is no error.

use graph::History;

use super::{Git, GitRequest, GitSource, run_limits};
use crate::{
    repository::RepositoryError,
    sandbox::{Limits, Network, Status},
};

/// Marks a commit among the paths; no path that git prints begins with it.
const COMMIT: u8 = 1;
/// Bytes of git's answer that are read; the newest commits come first.
const ANSWER: u64 = 256 << 20;

/// Returns the commits of each Python file up to a revision, and the time of the last. Of the newest `commits` all
/// count but merges.
///
/// # Errors
/// Git is missing or fails, or its files cannot be read.
pub fn history(
    request: &GitRequest<'_>,
    revision: &str,
    commits: u32,
) -> Result<History, RepositoryError> {
    let failed = |source| RepositoryError::Read { path: request.scratch.to_path_buf(), source };
    let scratch = tempfile::tempdir_in(request.scratch).map_err(failed)?;
    let origin = GitSource::Local(request.root.to_path_buf());
    let git = Git::new(&origin, request.host, request.sandbox, scratch.path())?;
    let newest = format!("--max-count={commits}");
    let args = [
        "log",
        "-z",
        &newest,
        "--no-merges",
        "--no-renames",
        "--no-show-signature",
        "--no-textconv",
        "--no-ext-diff",
        "--name-only",
        "--format=%x01%ct",
        revision,
        "--",
        "*.py",
        "*.pyi",
    ];
    let limits = Limits { output: ANSWER, ..run_limits() };
    let finished = git.execute(&args, Network::Loopback, limits)?;
    // A repository without a commit has no HEAD.
    if matches!(finished.status, Status::Exited(128)) && finished.stdout.bytes.is_empty() {
        return Ok(History::default());
    }
    let gap = match finished.stdout.dropped {
        0 => finished.stdout.bytes.len(),
        _ => finished.stdout.gap,
    };
    let bytes = git.answer(finished)?;
    Ok(read(bytes.get(..gap).unwrap_or(&bytes)))
}

/// Commits and their paths, each ended by a null; a time is followed by its first path's newline.
fn read(answer: &[u8]) -> History {
    let mut history = History::default();
    let mut time = 0;
    for part in answer.split(|&byte| byte == 0) {
        let part = part.strip_prefix(b"\n").unwrap_or(part);
        if let Some(stamp) = part.strip_prefix(&[COMMIT]) {
            time = std::str::from_utf8(stamp).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
            continue;
        }
        let Ok(path) = std::str::from_utf8(part) else { continue };
        if path.is_empty() {
            continue;
        }
        let (commits, last) = history.commits.entry(path.to_owned()).or_insert((0, i64::MIN));
        *commits += 1;
        *last = (*last).max(time);
    }
    history
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_counted_by_path() {
        let history = read(b"\x01200\0\na.py\0d/b.py\0\x01100\0\na.py\0\x0150\0\n\xff.py\0");
        assert_eq!(history.commits.get("a.py"), Some(&(2, 200)));
        assert_eq!(history.commits.get("d/b.py"), Some(&(1, 200)));
        assert_eq!(history.commits.len(), 2);
        assert_eq!(read(b"").commits.len(), 0);
    }
}
