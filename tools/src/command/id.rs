//! Names of tests, as runners write them.

use std::fmt;

/// A test, or the file that a command names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TestId {
    /// Path as it was given, without a leading `./`; for a module, the file that its name suggests.
    pub path: String,
    /// Classes and the function, outermost first; empty for a whole file.
    pub names: Vec<String>,
    /// The text between the brackets of a parametrised test.
    pub param: Option<String>,
}

impl TestId {
    /// Reads a node id: `path::Class::function[param]`. A parameter may hold anything.
    pub fn parse(text: &str) -> TestId {
        node_id(text, false)
    }
}

impl fmt::Display for TestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        for name in &self.names {
            write!(f, "::{name}")?;
        }
        match &self.param {
            Some(param) => write!(f, "[{param}]"),
            None => Ok(()),
        }
    }
}

pub(super) fn node_id(text: &str, dotted: bool) -> TestId {
    let (path, rest) = text.split_once("::").unwrap_or((text, ""));
    let (names, param) = match rest.split_once('[') {
        Some((names, param)) => (names, Some(param.strip_suffix(']').unwrap_or(param).to_string())),
        None => (rest, None),
    };
    let mut path = path.strip_prefix("./").unwrap_or(path).to_string();
    if dotted && !path.contains('/') && !path.ends_with(".py") {
        path = format!("{}.py", path.replace('.', "/"));
    }
    let names = names.split("::").filter(|name| !name.is_empty()).map(str::to_string).collect();
    TestId { path, names, param }
}

/// `pkg.mod.Class.method`: modules are lower case up to the first class, which the convention of the
/// language tells apart; a path is a whole file.
pub(super) fn unittest_id(text: &str) -> TestId {
    if text.ends_with(".py") || text.contains('/') {
        return whole(text);
    }
    let parts: Vec<&str> = text.split('.').collect();
    let is_class = |part: &&str| part.trim_start_matches('_').starts_with(char::is_uppercase);
    let at = parts.iter().position(is_class).filter(|at| *at > 0).unwrap_or(parts.len());
    TestId {
        path: format!("{}.py", parts[..at].join("/")),
        names: parts[at..].iter().map(|part| part.to_string()).collect(),
        param: None,
    }
}

pub(super) fn whole(path: &str) -> TestId {
    let path = path.strip_prefix("./").unwrap_or(path).to_string();
    TestId { path, names: Vec::new(), param: None }
}

/// The name of a docstring's examples in a gist: they begin with the name of the module.
pub(super) fn example_of(gist: &str, path: &str, name: &str) -> String {
    let dotted = path.trim_end_matches(".py").trim_end_matches("/__init__").replace('/', ".");
    let starts = dotted.match_indices('.').map(|(at, _)| at + 1);
    for module in std::iter::once(0).chain(starts).map(|at| &dotted[at..]) {
        if let Some(rest) = name.strip_prefix(module)
            && (rest.starts_with('.') || rest.is_empty() && module.contains('.'))
        {
            let stem = gist.rsplit('/').next().unwrap_or(gist).trim_end_matches(".py");
            return format!("{stem}{rest}");
        }
    }
    name.to_owned()
}
