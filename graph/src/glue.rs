//! Glue: the closed set of statements that a gist may have and no file of the repository has.
//!
//! ```
//! use gistify_graph::Glue;
//!
//! let glue = Glue::parse_text("make_shapes = make").expect("an alias");
//! assert_eq!(glue.render(), "make_shapes = make");
//! assert!(Glue::parse_text("make_shapes = make()").is_none());
//! ```
//!
//! The slicer writes glue by [`Glue::render`], and the judge recognises it by [`Glue::parse`];
//! nothing else knows the text of a form. No form contains behaviour of the package: a form names
//! objects that other lines define. The slicer decides that a form is needed at a place; the judge
//! decides that it is allowed there. [`Spelling`] has the expressions that replace others inside a
//! line of the repository.

mod data_file;
mod guard;
mod late;
mod parse;
mod spelling;

use std::fmt::Write;

use crate::syntax::is_identifier;

pub use data_file::DataFile;
pub(crate) use data_file::{WRITER, quoted};
pub use guard::Guard;
use late::{LATE, LATE_MODULES};
pub use spelling::{FilePath, Spelling, undo_spellings};

/// A statement of a gist that stands nowhere in the repository. Each costs its lines, which count as missing from the
/// original.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Glue {
    /// Imports of external modules.
    ///
    /// The lines below need them (`sys`, `types`), or a dropped statement had loaded them. Or an
    /// import inside a function failed in the original at this import, and fails here likewise.
    ///
    /// ```python
    /// import sys
    /// import xml.dom
    /// import missing as m
    /// ```
    Import(Vec<Imported>),
    /// Names from a module that stays importable: a compiled extension, or a module whose `__getattr__` answers.
    ///
    /// ```python
    /// from pkg import _speed
    /// from pkg.lazy import answer as reply
    /// ```
    ImportFrom {
        /// The module.
        module: String,
        /// The imported modules or names.
        names: Vec<Imported>,
    },
    /// The gist takes the place of modules of the repository, under the names that code uses (`pkg.mod.name`) or that it
    /// looks up in `sys.modules`.
    ///
    /// ```python
    /// pkg = mod = sys.modules.get(__name__)
    /// sys.modules["pkg.mod"] = sys.modules.get(__name__)
    /// __import__("pkg").mod = sys.modules.get(__name__)
    /// ```
    GistModule(Vec<GlueTarget>),
    /// Another name for a thing: two things have one name in different modules, or one has two.
    ///
    /// ```python
    /// make_shapes = make    # shapes.make, before colors.make is defined under the name
    /// make = make_shapes    # and back
    /// build = make          # `from .shapes import make as build`
    /// ```
    Alias {
        /// The name that is bound.
        target: String,
        /// The name of the thing.
        source: String,
    },
    /// A name of the gist as an attribute of a package that stays importable for its compiled extensions.
    ///
    /// ```python
    /// __import__("pkg").make = make
    /// ```
    PackageName {
        /// The package.
        package: String,
        /// The attribute.
        name: String,
        /// The global name of the gist.
        source: String,
    },
    /// An object in the place of a module that code passes around, iterates over or asks by strings.
    ///
    /// ```python
    /// shapes = types.ModuleType("pkg.shapes")
    /// shapes = sys.modules["pkg.shapes"] = types.ModuleType("pkg.shapes")
    /// ```
    ModuleObject {
        /// The names that it gets.
        targets: Vec<GlueTarget>,
        /// The module that it stands for.
        module: String,
    },
    /// The attributes of such an object: names of the gist, hooks of conftests, an outer fixture of
    /// the same name.
    ///
    /// ```python
    /// vars(shapes).update(make=make, colors=sys.modules.get(__name__))
    /// vars(conftest).update(__loader__=__loader__, pytest_runtest_setup=pytest_runtest_setup)
    /// ```
    Fill {
        /// The name of the object.
        object: String,
        /// Attributes with their values.
        held: Vec<(String, Held)>,
    },
    /// The place of the original's file, for code that looks for data beside a module or for its spec.
    ///
    /// ```python
    /// vars(shapes).update(__file__=__file__.rsplit('/', 2)[0] + '/pkg/shapes.py')
    /// ```
    Located {
        /// The name of the object.
        object: String,
        /// The original's file.
        file: FilePath,
        /// The original's directory, where the module is a package.
        directory: Option<FilePath>,
        /// The name of the module in its spec, where it has one.
        spec: Option<String>,
    },
    /// The module of a class, as a line of its body: code shows it, compares, pickles or names by it.
    ///
    /// ```python
    /// class Shape:
    ///     __module__ = "pkg.shapes"
    /// ```
    ClassModule(String),
    /// The module of a function.
    ///
    /// ```python
    /// make.__module__ = "pkg.shapes"
    /// ```
    FunctionModule {
        /// The global name of the function.
        function: String,
        /// Its module in the original.
        module: String,
    },
    /// A name that code of a module gave the module's object while it ran.
    ///
    /// ```python
    /// register(shapes)        # sets shapes.table
    /// table = shapes.table
    /// ```
    Attribute {
        /// The name that is bound.
        target: String,
        /// The name of the object.
        object: String,
        /// Its attribute.
        name: String,
    },
    /// A local name in the place of an import inside a function, where the function binds the name itself elsewhere.
    ///
    /// ```python
    /// def load():
    ///     make = globals()['make']    # `from .shapes import make`
    /// ```
    Global(String),
    /// The failure of an import from inside the repository, as the handler that caught it names it.
    ///
    /// ```python
    /// try:
    ///     raise ImportError    # `from . import _speed`
    /// except ImportError: ...
    /// ```
    FailedImport(String),
    /// The objects whose hooks and fixtures pytest takes, which it takes from no test module, besides plugins that the
    /// original names.
    ///
    /// ```python
    /// pytest_plugins = ["conftest"]
    /// ```
    Plugins(Vec<String>),
    /// The call of a console script's entry point, which is no line of any file.
    ///
    /// ```python
    /// if __name__ == "__main__":
    ///     sys.argv[0] = "tool"
    ///     sys.exit(main())
    /// ```
    EntryPoint {
        /// The name of the script.
        script: String,
        /// The function that the entry point calls.
        function: String,
    },
    /// The `DeprecationWarning`s of a script hidden: Python shows them, and hides those of modules, of which the gist of a
    /// script is made.
    ///
    /// ```python
    /// __import__("warnings").filterwarnings("ignore", category=DeprecationWarning, module="__main__")
    /// ```
    QuietScript,
    /// The end of a name that hides a built-in.
    ///
    /// ```python
    /// def print(text): ...
    /// del print
    /// ```
    Delete(String),
    /// A statement for a block of which all lines went.
    ///
    /// ```python
    /// def unused(self):
    ///     pass
    /// ```
    Pass,
    /// The class of [`Glue::Late`]: it has the import system run a block of the gist as a module.
    LateModules,
    /// The head of a block that has the code of a module, run when the module is first imported.
    ///
    /// ```python
    /// if _Late("pkg.heavy"):
    ///     print("heavy loaded")
    /// ```
    Late(String),
    /// The first import of such a module in a function that needs no other name for it, or in another such block.
    ///
    /// ```python
    /// def go(x):
    ///     __import__("pkg.heavy")    # `from .heavy import compute`
    ///     return compute(x)
    /// ```
    Load(String),
    /// A `__dir__` without the names of lazy imports: pytest reads each attribute that `dir()` lists, which would load
    /// them.
    ///
    /// ```python
    /// __dir__ = lambda: [name for name, held in globals().items() if not isinstance(held, types.LazyImportType)]
    /// ```
    HiddenLazy,
    /// A data file of the repository, written where the code looks for it. [`DataFile::check`] holds its bytes to the
    /// repository's.
    ///
    /// ```python
    /// _data("pkg/table.txt", b"red=1\n")
    /// ```
    Data(DataFile),
    /// The place of statements that did not run and may run elsewhere.
    ///
    /// ```python
    /// raise NotImplementedError("left out by gistify: pkg/mod.py:12-30")
    /// ```
    LeftOut(Guard),
}

/// An imported module or name, and the name that it gets where that is another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Imported {
    /// Its own name.
    pub name: String,
    /// The name behind `as`.
    pub asname: Option<String>,
}

/// A target of an assignment of a module.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GlueTarget {
    /// A global name.
    Name(String),
    /// `sys.modules["pkg.mod"]`.
    Registered(String),
    /// `__import__("pkg").mod`: an attribute of a package that stays importable.
    Child {
        /// The package.
        package: String,
        /// The attribute.
        name: String,
    },
}

/// A value that an object in the place of a module holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Held {
    /// A global name.
    Name(String),
    /// The gist's own module.
    Gist,
}

/// The expression for the gist's own module.
const GIST: &str = "sys.modules.get(__name__)";
/// Another, which is read as the same.
const GIST_INDEXED: &str = "sys.modules[__name__]";

impl Glue {
    /// Returns the import of one module under its own name.
    pub fn import(module: &str) -> Self {
        Self::Import(vec![Imported { name: module.to_owned(), asname: None }])
    }

    /// Returns the assignment of one name to another.
    pub fn alias(target: impl Into<String>, source: impl Into<String>) -> Self {
        Self::Alias { target: target.into(), source: source.into() }
    }

    /// Returns the text without indentation; that of an entry point has three lines.
    pub fn render(&self) -> String {
        match self {
            Self::Import(names) => format!("import {}", listed(names)),
            Self::ImportFrom { module, names } => format!("from {module} import {}", listed(names)),
            Self::GistModule(targets) => format!("{} = {GIST}", chained(targets)),
            Self::Alias { target, source } => format!("{target} = {source}"),
            Self::PackageName { package, name, source } => {
                format!("{}.{name} = {source}", imported(package))
            }
            Self::ModuleObject { targets, module } => {
                format!("{} = types.ModuleType({module:?})", chained(targets))
            }
            Self::Fill { object, held } => {
                let value = |value: &Held| match value {
                    Held::Name(name) => name.clone(),
                    Held::Gist => GIST.to_owned(),
                };
                let one = |(name, held): &(String, Held)| match is_identifier(name) {
                    true => format!("{name}={}", value(held)),
                    // A submodule `as.py` is an attribute that no keyword argument names.
                    false => format!("**{{{name:?}: {}}}", value(held)),
                };
                let held = held.iter().map(one);
                format!("vars({object}).update({})", held.collect::<Vec<_>>().join(", "))
            }
            Self::Located { object, file, directory, spec } => {
                located(object, file, directory.as_ref(), spec.as_deref())
            }
            Self::ClassModule(module) => format!("__module__ = {module:?}"),
            Self::FunctionModule { function, module } => {
                format!("{function}.__module__ = {module:?}")
            }
            Self::Attribute { target, object, name } => format!("{target} = {object}.{name}"),
            Self::Global(name) => format!("{name} = globals()['{name}']"),
            Self::FailedImport(kind) => format!("raise {kind}"),
            Self::Plugins(modules) => {
                let modules: Vec<String> = modules.iter().map(|name| format!("{name:?}")).collect();
                format!("pytest_plugins = [{}]", modules.join(", "))
            }
            Self::EntryPoint { script, function } => format!(
                "if __name__ == \"__main__\":\n    sys.argv[0] = {script:?}\n    sys.exit({function}())"
            ),
            Self::QuietScript => format!(
                "{}.filterwarnings(\"ignore\", category=DeprecationWarning, module=\"__main__\")",
                imported("warnings")
            ),
            Self::LateModules => LATE_MODULES.trim_end().to_owned(),
            Self::Late(module) => format!("if {LATE}({module:?}):"),
            Self::Load(module) => format!("__import__({module:?})"),
            Self::HiddenLazy => "__dir__ = lambda: [name for name, held in globals().items() \
                                 if not isinstance(held, types.LazyImportType)]"
                .to_owned(),
            Self::Delete(name) => format!("del {name}"),
            Self::Pass => "pass".to_owned(),
            Self::Data(file) => file.render().trim_end().to_owned(),
            Self::LeftOut(guard) => guard.render(),
        }
    }

    /// Returns true if the text looks into `sys.modules` or `sys`, so that the gist needs `import sys`.
    pub(crate) fn needs_sys(&self) -> bool {
        self.render().contains("sys.")
    }
}

/// Returns an expression for a module that binds no name.
fn imported(module: &str) -> String {
    match module.contains('.') {
        true => format!("__import__({module:?}, fromlist=['_'])"),
        false => format!("__import__({module:?})"),
    }
}

fn listed(names: &[Imported]) -> String {
    let one = |one: &Imported| match &one.asname {
        Some(asname) => format!("{} as {asname}", one.name),
        None => one.name.clone(),
    };
    names.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn chained(targets: &[GlueTarget]) -> String {
    let one = |target: &GlueTarget| match target {
        GlueTarget::Name(name) => name.clone(),
        GlueTarget::Registered(module) => format!("sys.modules[{module:?}]"),
        GlueTarget::Child { package, name } => format!("{}.{name}", imported(package)),
    };
    targets.iter().map(one).collect::<Vec<_>>().join(" = ")
}

fn located(
    object: &str,
    file: &FilePath,
    directory: Option<&FilePath>,
    spec: Option<&str>,
) -> String {
    let file = file.render();
    let path = directory.map(|path| format!("[{}]", path.render()));
    let mut held = format!("__file__={file}");
    if let Some(path) = &path {
        let _ = write!(held, ", __path__={path}");
    }
    if let Some(name) = spec {
        // Whoever finds it by its name asks its spec for a loader, which reads what lies beside it.
        let util = imported("importlib.util");
        let inside =
            path.map_or_else(String::new, |path| format!(", submodule_search_locations={path}"));
        let spec = format!("{util}.spec_from_file_location({name:?}, {file}{inside})");
        let _ = write!(held, ", __spec__={spec}");
    }
    format!("vars({object}).update({held})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> Imported {
        Imported { name: name.to_owned(), asname: None }
    }

    fn text(text: &str) -> String {
        text.to_owned()
    }

    /// Checks that glue has a text, and that the text is read as this glue.
    #[track_caller]
    fn check(glue: &Glue, expected: &str) {
        assert_eq!(glue.render(), expected.trim_end());
        assert_eq!(Glue::parse_text(expected).as_ref(), Some(glue), "{expected}");
    }

    #[test]
    fn every_form_is_read_as_it_is_written() {
        let renamed = Imported { name: text("parse"), asname: Some(text("parse_ast")) };
        check(&Glue::import("sys"), "import sys");
        check(&Glue::Import(vec![name("a.b"), renamed.clone()]), "import a.b, parse as parse_ast");
        let names = vec![name("node"), renamed];
        let module = text("ast");
        check(&Glue::ImportFrom { module, names }, "from ast import node, parse as parse_ast");
        let targets = vec![
            GlueTarget::Name(text("mod")),
            GlueTarget::Registered(text("pkg.mod")),
            GlueTarget::Child { package: text("pkg"), name: text("mod") },
            GlueTarget::Child { package: text("pkg.sub"), name: text("mod") },
        ];
        check(
            &Glue::GistModule(targets.clone()),
            "mod = sys.modules[\"pkg.mod\"] = __import__(\"pkg\").mod = \
             __import__(\"pkg.sub\", fromlist=['_']).mod = sys.modules.get(__name__)",
        );
        let indexed = Glue::parse_text("mod = sys.modules[\"pkg.mod\"] = sys.modules[__name__]");
        assert_eq!(indexed, Some(Glue::GistModule(targets[..2].to_vec())));
        check(&Glue::alias("make_shapes", "make"), "make_shapes = make");
        let (package, own, source) = (text("pkg"), text("make"), text("make_"));
        check(
            &Glue::PackageName { package, name: own, source },
            "__import__(\"pkg\").make = make_",
        );
        check(
            &Glue::ModuleObject { targets: targets[..2].to_vec(), module: text("pkg.mod") },
            "mod = sys.modules[\"pkg.mod\"] = types.ModuleType(\"pkg.mod\")",
        );
        let held = vec![
            (text("__loader__"), Held::Name(text("__loader__"))),
            (text("make"), Held::Name(text("make_shapes"))),
            (text("pkg"), Held::Gist),
        ];
        check(
            &Glue::Fill { object: text("mod"), held },
            "vars(mod).update(__loader__=__loader__, make=make_shapes, pkg=sys.modules.get(__name__))",
        );
        let held = vec![(text("make"), Held::Name(text("make"))), (text("as"), Held::Gist)];
        check(
            &Glue::Fill { object: text("mod"), held },
            "vars(mod).update(make=make, **{\"as\": sys.modules.get(__name__)})",
        );
        check(&Glue::ClassModule(text("pkg.mod")), "__module__ = \"pkg.mod\"");
        check(
            &Glue::FunctionModule { function: text("make"), module: text("pkg.mod") },
            "make.__module__ = \"pkg.mod\"",
        );
        check(
            &Glue::Attribute { target: text("table"), object: text("mod"), name: text("table") },
            "table = mod.table",
        );
        check(&Glue::Global(text("make")), "make = globals()['make']");
        check(&Glue::FailedImport(text("ImportError")), "raise ImportError");
        check(&Glue::FailedImport(text("pkg.Missing")), "raise pkg.Missing");
        check(
            &Glue::Plugins(vec![text("conftest"), text("lib")]),
            "pytest_plugins = [\"conftest\", \"lib\"]",
        );
        check(
            &Glue::EntryPoint { script: text("tool"), function: text("cli.main") },
            "if __name__ == \"__main__\":\n    sys.argv[0] = \"tool\"\n    sys.exit(cli.main())",
        );
        check(
            &Glue::QuietScript,
            "__import__(\"warnings\").filterwarnings(\"ignore\", category=DeprecationWarning, \
             module=\"__main__\")",
        );
        check(&Glue::LateModules, LATE_MODULES);
        check(&Glue::Load(text("pkg.heavy")), "__import__(\"pkg.heavy\")");
        check(
            &Glue::HiddenLazy,
            "__dir__ = lambda: [name for name, held in globals().items() \
             if not isinstance(held, types.LazyImportType)]",
        );
        check(&Glue::Delete(text("print")), "del print");
        check(&Glue::Pass, "pass");
        check(
            &Glue::Data(DataFile { path: text("pkg/t.txt"), contents: b"a\n".to_vec() }),
            "_data(\n    \"pkg/t.txt\",\n    b\"a\\n\",\n)",
        );
        check(
            &Glue::LeftOut(Guard { path: text("pkg/mod.py"), first: 12, last: 30 }),
            "raise NotImplementedError(\"left out by gistify: pkg/mod.py:12-30\")",
        );
    }

    #[test]
    fn the_place_of_a_file_is_read_as_it_is_written() {
        let up = |up, rest: &str| FilePath { up, rest: text(rest) };
        let object = text("mod");
        let (file, directory) = (up(2, "pkg/mod/__init__.py"), Some(up(2, "pkg/mod")));
        check(
            &Glue::Located { object, file, directory, spec: Some(text("pkg.mod")) },
            "vars(mod).update(__file__=__file__.rsplit('/', 2)[0] + '/pkg/mod/__init__.py', \
             __path__=[__file__.rsplit('/', 2)[0] + '/pkg/mod'], \
             __spec__=__import__(\"importlib.util\", fromlist=['_']).spec_from_file_location(\
             \"pkg.mod\", __file__.rsplit('/', 2)[0] + '/pkg/mod/__init__.py', \
             submodule_search_locations=[__file__.rsplit('/', 2)[0] + '/pkg/mod']))",
        );
        let (object, file) = (text("mod"), up(1, "mod.py"));
        check(
            &Glue::Located { object, file, directory: None, spec: None },
            "vars(mod).update(__file__=__file__.rsplit('/', 1)[0] + '/mod.py')",
        );
    }

    #[test]
    fn the_head_of_a_late_module_is_read_as_it_is_written() {
        let head = Glue::Late(text("pkg.mod"));
        assert_eq!(head.render(), "if _Late(\"pkg.mod\"):");
        assert_eq!(Glue::parse_text("if _Late(\"pkg.mod\"):\n    a = f()\n"), Some(head));
        for text in [
            "if _Late(name):\n    pass\n",
            "if _Late(\"pkg.mod\"):\n    pass\nelse:\n    pass\n",
            "if _Late(\"pkg.mod\", True):\n    pass\n",
            "if not _Late(\"pkg.mod\"):\n    pass\n",
        ] {
            assert_eq!(Glue::parse_text(text), None, "{text}");
        }
    }

    #[test]
    fn what_computes_or_holds_a_value_is_no_glue() {
        for text in [
            "make = 2",
            "make = lambda: 2",
            "make = other()",
            "a, b = c, d",
            "vars(mod).update(make=2)",
            "vars(mod).update(**table)",
            "vars(mod).update(__file__='/etc/passwd')",
            "mod = types.ModuleType(name)",
            "sys.modules['pytest'] = object()",
            "raise ImportError('text')",
            "raise ImportError from None",
            "from . import mod",
            "from mod import *",
            "make.__name__ = \"other\"",
            "__module__ = module",
            "if __name__ == \"__main__\":\n    sys.exit(main())",
            "del a, b",
            "make: int = other",
            "table = mod.inner.table",
            "'a text'",
            "return",
        ] {
            assert_eq!(Glue::parse_text(text), None, "{text}");
        }
    }
}
