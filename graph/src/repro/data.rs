//! Data files inside a gist: lines that write them into a temporary directory before anything reads them.
//!
//! The statement of one file is [`DataFile`]'s.

use std::collections::BTreeSet;

use ruff_python_ast::{
    Expr,
    visitor::{Visitor, walk_expr},
};
use ruff_text_size::{Ranged, TextRange};

use super::{
    parse,
    splice::{joined, lines_with_origins, spliced},
};
use crate::{
    glue::{DataFile, FilePath, WRITER, quoted},
    slice::{Gist, GistLine, LineOrigin},
    syntax::with_deep_stack,
};

/// The way in which code finds data files; each one reaches what those before it reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Relative to `__file__`.
    File,
    /// Relative to the working directory.
    Directory,
    /// As data of packages.
    Package,
}

/// The name that takes the place of `__file__`: pytest compares a module's own with the file that it collects.
const PLACE: &str = "_PLACE";

/// The gist with data files in it; `gist_path` is where it stands in the repository, which its code looks from.
pub fn with_data(gist: &Gist, files: &[DataFile], gist_path: &str, reach: Reach) -> Gist {
    let mut text = format!(
        "import os as _os\nimport tempfile as _tempfile\n\n_DATA = _tempfile.mkdtemp()\n\n\n\
         def {WRITER}(path, contents):\n    path = _os.path.join(_DATA, path)\n    \
         _os.makedirs(_os.path.dirname(path), exist_ok=True)\n    with open(path, \"wb\") as file:\n        \
         file.write(contents)\n\n\n"
    );
    for file in files {
        text.push_str(&file.render());
    }
    text.push_str(&format!("{PLACE} = _os.path.join(_DATA, {})\n", quoted(gist_path)));
    // The directory of the gist has to be there for paths that lead out of it again.
    text.push_str(&format!("_os.makedirs(_os.path.dirname({PLACE}), exist_ok=True)\n"));
    // And so have those of files that it looks from: `dirname(__file__) + "/../data"`.
    let (all, directories) = with_deep_stack(|| moved(gist, gist_path));
    for directory in directories {
        let directory = quoted(&directory);
        text.push_str(&format!("_os.makedirs(_os.path.join(_DATA, {directory}), exist_ok=True)\n"));
    }
    if reach >= Reach::Directory {
        text.push_str("_os.chdir(_DATA)\n");
    }
    if reach >= Reach::Package {
        text.push_str("__import__(\"sys\").path.insert(0, _DATA)\n");
    }
    let all = lines_with_origins(&all);
    let futures = all.iter().rposition(|(line, _)| line.starts_with("from __future__"));
    let at = futures.map_or(0, |at| at + 1);
    let added = text.lines().map(|line| {
        let origin = LineOrigin::Glue("a data file that the command reads".to_owned());
        (line.to_owned(), GistLine { origin, adapted: false })
    });
    joined(all[..at].iter().cloned().chain(added).chain(all[at..].iter().cloned()))
}

/// Returns the gist with its own place by the other name, and the directories of the files whose paths it computes.
fn moved(gist: &Gist, gist_path: &str) -> (Gist, BTreeSet<String>) {
    struct Finder<'b> {
        gist: &'b str,
        places: Vec<TextRange>,
        directories: BTreeSet<String>,
    }
    impl<'a> Visitor<'a> for Finder<'_> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Name(name) = expr
                && name.id == "__file__"
            {
                self.places.push(name.range());
            }
            let path = FilePath::parse(expr).and_then(|path| path.from(self.gist));
            if let Some((directory, _)) = path.as_deref().and_then(|path| path.rsplit_once('/')) {
                self.directories.insert(directory.to_owned());
            }
            walk_expr(self, expr);
        }
    }
    let syntax = parse(gist);
    let mut finder = Finder { gist: gist_path, places: Vec::new(), directories: BTreeSet::new() };
    syntax.body().iter().for_each(|stmt| finder.visit_stmt(stmt));
    let places = finder.places.into_iter().map(|range| (range, PLACE.to_owned())).collect();
    (spliced(gist, places), finder.directories)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repro::tests::gist;

    #[test]
    fn a_path_may_lead_through_the_directory_of_a_module() {
        let text = "print(__file__.rsplit('/', 2)[0] + '/pkg/mod.py')\n";
        let found = with_data(&gist(text), &[], "tests/concise.py", Reach::File);
        let made = "_os.makedirs(_os.path.join(_DATA, \"pkg\"), exist_ok=True)\n";
        assert!(found.text.contains(made), "{}", found.text);
    }

    #[test]
    fn data_stand_before_all_but_futures() {
        let file = DataFile { path: "pkg/t.txt".to_owned(), contents: b"1\n".to_vec() };
        let found = with_data(
            &gist("from __future__ import annotations\nimport a\nprint(__file__)\n"),
            &[file],
            "tests/concise.py",
            Reach::Directory,
        );
        let lines: Vec<&str> = found.text.lines().collect();
        assert_eq!(lines[0], "from __future__ import annotations");
        assert_eq!(lines.last(), Some(&"print(_PLACE)"));
        let end = "_data(\n    \"pkg/t.txt\",\n    b\"1\\n\",\n)\n_PLACE = _os.path.join(_DATA, \"tests/concise.py\")\n_os.makedirs(_os.path.dirname(_PLACE), exist_ok=True)\n_os.chdir(_DATA)\nimport a\nprint(_PLACE)\n";
        assert!(found.text.ends_with(end), "{}", found.text);
        assert_eq!(found.lines.len(), lines.len());
    }
}
