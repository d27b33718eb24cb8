//! Files and directories that a command writes in the end: tried before its work begins.

use std::{fs, io::ErrorKind, path::Path};

use super::{Exit, Failure};

/// Fails if a file could not be written in the end, or exists and may not be replaced.
pub fn check_file(path: &Path, force: bool) -> Result<(), Failure> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    match path.symlink_metadata() {
        Err(_) => check_parent(path, parent),
        Ok(there) if there.is_dir() => {
            Err(refused(path, "it is a directory (name a file)".to_owned()))
        }
        // Moving a file to the place of a device would remove the device.
        Ok(there) if !there.is_file() && !there.is_symlink() => {
            Err(refused(path, "it is no regular file (name another)".to_owned()))
        }
        Ok(_) if !force => {
            let message = format!("output {} exists (replace it with --force)", path.display());
            Err(Failure::new(Exit::Input, message))
        }
        Ok(_) => check_parent(path, parent),
    }
}

/// Fails if files could not be created in a directory. Accepts a missing directory and does not create it.
pub fn check_directory(path: &Path) -> Result<(), Failure> {
    let existing = path.ancestors().find(|one| !one.as_os_str().is_empty() && one.exists());
    check_parent(path, existing.unwrap_or(Path::new(".")))
}

/// Fails as [`check_directory`] does, and if the directory has entries.
pub fn check_new_directory(path: &Path) -> Result<(), Failure> {
    check_directory(path)?;
    match fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
        true => {
            let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            let message =
                format!("run directory {} is not empty (name another one)", path.display());
            Err(Failure::new(Exit::Input, message))
        }
        false => Ok(()),
    }
}

/// Creates a directory for output, and its parents.
pub fn make_directory(path: &Path) -> Result<(), Failure> {
    check_directory(path)?;
    fs::create_dir_all(path).map_err(|error| refused(path, error.to_string()))
}

/// Fails if no file can be created in `parent`. Tries it with an unnamed temporary file, which disappears.
fn check_parent(output: &Path, parent: &Path) -> Result<(), Failure> {
    let shown = parent.display();
    match fs::metadata(parent) {
        Ok(there) if !there.is_dir() => {
            return Err(refused(output, format!("{shown} is not a directory")));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(refused(output, format!("there is no directory {shown} (make it first)")));
        }
        Err(error) => return Err(refused(output, format!("{shown}: {error}"))),
        Ok(_) => {}
    }
    match tempfile::tempfile_in(parent) {
        Ok(_) => Ok(()),
        Err(error) => {
            let error = ::eval::without_temporary_path(error);
            let why = format!("no file can be made in {shown}: {error} (name another directory)");
            Err(refused(output, why))
        }
    }
}

fn refused(path: &Path, why: String) -> Failure {
    Failure::new(Exit::Input, format!("write {}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_that_cannot_be_written_are_refused() {
        let here = tempfile::tempdir().unwrap();
        fs::write(here.path().join("old.py"), "x = 1\n").unwrap();
        let at = |name: &str| here.path().join(name);
        let fault = |checked: Result<(), Failure>| checked.err().map(|failure| failure.message());
        for (path, part) in [
            (at("new.py"), None),
            (at("old.py"), Some("exists (replace it with --force)")),
            (at("old.py/x.py"), Some("is not a directory")),
            (at("none/x.py"), Some("there is no directory")),
            (at(""), Some("it is a directory")),
            ("/proc/x.py".into(), Some("no file can be made in /proc")),
            ("/dev/null".into(), Some("it is no regular file")),
        ] {
            let fault = fault(check_file(&path, false));
            assert_eq!(fault.is_some(), part.is_some(), "{}: {fault:?}", path.display());
            let (fault, part) = (fault.unwrap_or_default(), part.unwrap_or_default());
            assert!(fault.contains(part), "{fault}");
        }
        assert_eq!(fault(check_file(&at("old.py"), true)), None);
        assert_eq!(fault(check_directory(&at("a/b"))), None);
        assert!(fault(check_directory(&at("old.py/b"))).unwrap().contains("is not a directory"));
        assert!(fault(check_directory("/proc/x/y".as_ref())).is_some());
        assert!(fault(check_new_directory(here.path())).unwrap().contains("is not empty"));
        let names: Vec<_> = fs::read_dir(here.path()).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }
}
