//! Parts of the repository as a model reads them: trees, outlines, numbered lines, definitions and
//! statements by name; and the gist as it stands.
//!
//! Shows files that the graph knows and other regular files below the root; a path that leads out is
//! refused. Every answer is bounded and says what was cut.

use std::{collections::BTreeMap, fs::File, io::Read, path::Path};

use graph::{
    EntityKind, Graph, NumberedFile, Passage, Queries, Statement, Texts, module_tree, numbered,
    open_beneath, statement, with_number,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    query::{Outputs, QueryWork},
    relate::{RelateError, resolve},
    session::Session,
    tool::{Group, Problem, Reply, Tool, ToolError, arguments, schema},
};

/// Lines of one answer at most.
pub(crate) const LINES: usize = 400;
/// Bytes of one answer at most.
const BYTES: usize = 32_000;
/// Bytes of one line at most.
const LINE: usize = 8_000;
/// Larger files than this are not shown, in bytes.
const LARGEST: u64 = 64 << 20;
/// Bytes of a file that a reader chooses from at most.
const WHOLE: usize = 4 << 20;
/// Lines of code of a class of which each method's body is shown.
const CLASS: usize = 80;
/// Targets of one call at most.
const TARGETS: usize = 200;

/// Shows a part of the repository.
#[derive(Debug, Default)]
pub struct ViewTool;

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Arguments {
    target: String,
    targets: Vec<String>,
    outline: bool,
    docstrings: bool,
    first: Option<u32>,
    last: Option<u32>,
}

impl Default for Arguments {
    fn default() -> Self {
        Self {
            target: String::new(),
            targets: Vec::new(),
            outline: false,
            docstrings: true,
            first: None,
            last: None,
        }
    }
}

/// A passage as a model reads it.
#[derive(Default, Serialize)]
pub(crate) struct PassageView {
    pub(crate) path: String,
    /// Imports at the top of the file that bind names of the text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) imports: String,
    pub(crate) text: String,
    /// Imports by which the name that was asked for is handed on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) through: Vec<Through>,
    pub(crate) left_out: usize,
    /// The line to go on from, where a file was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<u32>,
}

/// An import that hands a name on.
#[derive(Serialize)]
pub(crate) struct Through {
    path: String,
    text: String,
}

/// One of several views.
#[derive(Serialize)]
struct SeenTarget {
    target: String,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    view: Option<PassageView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

#[derive(Serialize)]
struct Views {
    views: Vec<SeenTarget>,
    left_out: usize,
}

impl Tool for ViewTool {
    fn name(&self) -> &'static str {
        "view"
    }

    fn group(&self) -> Group {
        Group::View
    }

    fn schema(&self) -> Value {
        schema::<Arguments>()
    }

    fn call(&self, given: Value, session: &mut Session) -> Result<Reply, ToolError> {
        let asked: Arguments = arguments(given)?;
        if let Some(query) = &session.findings.query
            && let Some(reply) = file_of_work(&query.work, &asked)?
        {
            return Ok(reply);
        }
        let gist = session.gist_path();
        if asked.target == gist {
            let text = session.findings.gist.as_ref().map(|gist| gist.text.as_str());
            let text = text.ok_or_else(|| Problem::NoGist.because("there is no gist"))?;
            return Reply::of(&numbered_lines(&gist, text, &asked)?);
        }
        let graph = session.graph();
        let texts = session.repository.texts();
        if asked.targets.is_empty() {
            let seen = view(&graph, &texts, &asked)?;
            let is_part = seen.next.is_some() && asked.first.is_none() && asked.last.is_none();
            let whole = is_part.then(|| whole(&texts, &seen.path, &asked)).flatten();
            return Ok(Reply { whole, ..Reply::of(&seen)? });
        }
        let mut told = BTreeMap::new();
        let first = asked.targets.iter().take(TARGETS);
        let views = first.map(|target| {
            let (target, targets) = (target.clone(), Vec::new());
            let one = Arguments { target: target.clone(), targets, ..asked.clone() };
            match view(&graph, &texts, &one) {
                Ok(mut view) => {
                    tell_once(&mut view, &mut told);
                    SeenTarget { target, view: Some(view), refused: None }
                }
                Err(error) => SeenTarget { target, view: None, refused: Some(error.to_string()) },
            }
        });
        let views = views.collect();
        Reply::of(&Views { views, left_out: asked.targets.len().saturating_sub(TARGETS) })
    }
}

/// A text of the work on a query, or the names in one of its directories; nothing where the work has no such path.
fn file_of_work(work: &QueryWork, asked: &Arguments) -> Result<Option<Reply>, ToolError> {
    let target = asked.target.trim_end_matches('/').trim_start_matches("./");
    let is_ours =
        |file: &File| file.metadata().is_ok_and(|there| there.is_file() && there.len() <= LARGEST);
    let names = match target {
        "inputs" => work.input_names().ok(),
        "outputs" => Outputs::of(&work.outputs()).ok().map(|outputs| {
            let mut names = [outputs.named, outputs.others].concat();
            names.sort_unstable();
            names
        }),
        _ => None,
    };
    if let Some(names) = names {
        return Ok(Some(Reply::of(&bounded(target, names))?));
    }
    if target.is_empty() || !asked.targets.is_empty() {
        return Ok(None);
    }
    let Some(file) = work.open(target).ok().filter(is_ours) else { return Ok(None) };
    let text = plain(file, target).map_err(|error| Problem::Failed.because(error))?;
    let seen = numbered_lines(target, &text, asked)?;
    let is_part = seen.next.is_some() && asked.first.is_none() && asked.last.is_none();
    let whole = (is_part && text.len() <= WHOLE)
        .then(|| numbered(&text).map(|(line, text)| with_number(line, text) + "\n").collect());
    Ok(Some(Reply { whole, ..Reply::of(&seen)? }))
}

/// All lines of a file with their numbers, as far as a reader can be given them.
fn whole(texts: &Texts, path: &str, asked: &Arguments) -> Option<String> {
    let text = texts.of(path);
    let lines = numbered(&text).map(|(line, text)| with_number(line, text) + "\n");
    (text.len() <= WHOLE && asked.target.trim_end_matches('/').ends_with(path))
        .then(|| lines.collect())
}

/// Takes the import lines out of a view that other views of the same reply have shown.
fn tell_once(view: &mut PassageView, told: &mut BTreeMap<String, Vec<String>>) {
    let known = told.entry(view.path.clone()).or_default();
    let fresh = view.imports.lines().filter(|line| !known.iter().any(|other| other == line));
    let fresh: Vec<String> = fresh.map(str::to_owned).collect();
    view.imports = fresh.iter().map(|line| format!("{line}\n")).collect();
    known.extend(fresh);
}

fn view(graph: &Graph, texts: &Texts, asked: &Arguments) -> Result<PassageView, ToolError> {
    let root = texts.root();
    let target = asked.target.trim_end_matches('/').trim_start_matches("./");
    if let Some(file) = inside(root, target).filter(|_| !texts.is_apart(target)) {
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Ok(bounded(target, directory(graph, texts, target)));
        }
        let text = match graph.modules.iter().any(|module| module.path == target) {
            true => texts.of(target),
            false => plain(file, target).map_err(|error| Problem::Failed.because(error))?,
        };
        if asked.outline {
            return Ok(outline(target, &text, (1, u32::MAX)));
        }
        return numbered_lines(target, &text, asked);
    }
    let queries = Queries::new(graph);
    let ids = match resolve(&queries, target) {
        Ok(ids) => ids,
        Err(error) => match statement(graph, texts, target) {
            Some(found) => return Ok(of_statement(texts, &found, asked)),
            None => return Err(Problem::NotFound.because(unknown(graph, target, &error))),
        },
    };
    let entity = graph.entity(ids[0]);
    let path = &graph.module(entity.module).path;
    let text = texts.of(path);
    if asked.outline && matches!(entity.kind, EntityKind::Class | EntityKind::Module) {
        return Ok(outline(path, &text, (entity.line, entity.end_line)));
    }
    if entity.kind == EntityKind::Module {
        return numbered_lines(path, &text, asked);
    }
    let spans: Vec<(u32, u32)> =
        ids.iter().map(|&id| (graph.entity(id).line, graph.entity(id).end_line)).collect();
    Ok(passage(path, &text, &spans, asked))
}

/// The numbered lines of a file, or some of them.
fn numbered_lines(path: &str, text: &str, asked: &Arguments) -> Result<PassageView, ToolError> {
    let first = asked.first.unwrap_or(1).max(1);
    let last = asked.last.unwrap_or(u32::MAX);
    let lines = numbered(text).count();
    if first > 1 && first as usize > lines {
        let past = format!("line {first} is past the end ({path} has {lines} lines)");
        return Err(Problem::BadArguments.because(past));
    }
    let is_python = path.ends_with(".py") || path.ends_with(".pyi");
    let code = (is_python && !asked.docstrings).then(|| NumberedFile::of(text));
    let has = |line: u32| code.as_ref().is_none_or(|code| code.count(line, line) > 0);
    Ok(counted(path, text, |line| (first..=last).contains(&line) && has(line)))
}

/// Definitions or statements of a file, with the blocks around them and their imports. With `first` or
/// `last` it is those lines of them.
fn passage(path: &str, text: &str, spans: &[(u32, u32)], asked: &Arguments) -> PassageView {
    let is_cut = asked.first.is_some() || asked.last.is_some();
    let longest = if is_cut { usize::MAX } else { CLASS };
    let found = Passage::of(text, spans, longest);
    let code = if asked.docstrings { NumberedFile::whole(text) } else { NumberedFile::of(text) };
    let (first, last) = (asked.first.unwrap_or(1), asked.last.unwrap_or(u32::MAX));
    let within = |span: &(u32, u32)| (span.0.max(first), span.1.min(last));
    let spans: Vec<(u32, u32)> = found.around.iter().chain(&found.spans).map(within).collect();
    let shown = code.numbered(&spans, &found.cuts);
    let imports = code.numbered(&found.imports, &BTreeMap::new());
    PassageView { imports, ..bounded(path, shown.lines().map(str::to_owned)) }
}

/// Shows a name that no definition has: a statement, or an import of something outside.
fn of_statement(texts: &Texts, found: &Statement, asked: &Arguments) -> PassageView {
    let view = passage(&found.path, &texts.of(&found.path), &found.spans, asked);
    let through = found.through.iter().map(|(path, first, last)| {
        let text = NumberedFile::of(&texts.of(path)).numbered(&[(*first, *last)], &BTreeMap::new());
        Through { path: path.clone(), text }
    });
    PassageView { through: through.collect(), ..view }
}

/// Says that nothing has a name: for a path, with the files that are like it.
fn unknown(graph: &Graph, target: &str, error: &RelateError) -> String {
    let is_path = !target.contains("::") && (target.contains('/') || target.ends_with(".py"));
    if !is_path {
        return error.to_string();
    }
    let like = |path: &str| strsim::jaro_winkler(path, target);
    let mut near: Vec<&str> = graph.modules.iter().map(|module| module.path.as_str()).collect();
    near.sort_by(|left, right| like(right).total_cmp(&like(left)).then(left.cmp(right)));
    near.truncate(3);
    format!("not found: no file {target} (files like it: {})", near.join(", "))
}

/// The file or directory that a path names, if it is below the root and not reached over a link out.
pub(crate) fn inside(root: &Path, target: &str) -> Option<File> {
    let file = open_beneath(root, Path::new(target)).ok()?;
    let metadata = file.metadata().ok()?;
    let shown = metadata.is_dir() || metadata.is_file() && metadata.len() <= LARGEST;
    shown.then_some(file)
}

pub(crate) fn plain(file: File, target: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    file.take(LARGEST)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("read {target}: {error}"))?;
    match bytes.iter().take(8_000).any(|&byte| byte == 0) {
        true => Err(format!("{target} is not text")),
        false => Ok(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

fn directory(graph: &Graph, texts: &Texts, under: &str) -> Vec<String> {
    let prefix = if under.is_empty() { String::new() } else { format!("{under}/") };
    (0u32..)
        .zip(&graph.modules)
        .filter(|(_, module)| module.path.starts_with(&prefix))
        .map(|(at, module)| {
            let tree = module_tree(graph, graph::FileId(at), &texts.of(&module.path));
            let doc = if tree.doc.is_empty() { String::new() } else { format!("  # {}", tree.doc) };
            format!("{} ({} lines){doc}", module.path, module.measures.lines)
        })
        .collect()
}

/// The contents of a file within some lines.
fn outline(path: &str, text: &str, (first, last): (u32, u32)) -> PassageView {
    let mut lines = graph::contents(text);
    lines.retain(|line| line.line >= first && line.end_line <= last);
    let least = lines.iter().map(|line| line.depth).min().unwrap_or(0);
    let shown = lines.iter().map(|line| {
        let indent = "  ".repeat((line.depth - least) as usize);
        format!("{}-{}: {indent}{}", line.line, line.end_line, line.text)
    });
    bounded(path, shown)
}

/// Lines of a file with their numbers, as many as one answer may have.
pub(crate) fn counted(path: &str, text: &str, shown: impl Fn(u32) -> bool) -> PassageView {
    let lines: Vec<(u32, &str)> = numbered(text).filter(|&(line, _)| shown(line)).collect();
    let mut view = bounded(path, lines.iter().map(|(line, text)| with_number(*line, text)));
    if view.left_out > 0 {
        view.next = lines.get(lines.len() - view.left_out).map(|&(line, _)| line);
    }
    view
}

fn bounded(path: &str, lines: impl IntoIterator<Item = String>) -> PassageView {
    let mut view = PassageView { path: path.to_owned(), ..PassageView::default() };
    for (at, line) in lines.into_iter().enumerate() {
        let line = cut(line);
        if at >= LINES || view.left_out > 0 || view.text.len() + line.len() >= BYTES {
            view.left_out += 1;
            continue;
        }
        view.text.push_str(&line);
        view.text.push('\n');
    }
    view
}

/// Shortens a long line, and notes the number of removed bytes.
fn cut(mut line: String) -> String {
    let whole = line.len();
    if whole > LINE {
        line.truncate(line.floor_char_boundary(LINE));
        line.push_str(&format!(" [{} more bytes]", whole - line.len()));
    }
    line
}

#[cfg(test)]
mod tests {
    use std::fs;

    use graph::WalkOptions;

    use super::*;

    fn check(target: &str, outline: bool, expected: &str) {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("repo");
        fs::create_dir(&root).unwrap();
        fs::write(outer.path().join("secret.txt"), "secret").unwrap();
        let text = "'''Doc.'''\nclass A:\n    def f(self):\n        return 1\n";
        let marked = "LIMIT = 3\nclass B:\n    x = 1\n    @property\n    def f(\n        self,  # it\n    ): pass\n";
        fs::write(root.join("b.py"), marked).unwrap();
        fs::write(root.join("a.py"), text).unwrap();
        fs::write(root.join("notes.txt"), "hello\n").unwrap();
        fs::write(root.join("gist.py"), "def made(): pass\n").unwrap();
        fs::create_dir(root.join("record")).unwrap();
        fs::write(root.join("record/steps.jsonl"), "{}\n").unwrap();
        std::os::unix::fs::symlink("../secret.txt", root.join("linked.txt")).unwrap();
        std::os::unix::fs::symlink(outer.path(), root.join("away")).unwrap();
        let apart = ["gist.py", "record"].map(Into::into).into();
        let walk = WalkOptions { apart, ..WalkOptions::default() };
        let build = graph::BuildOptions { walk: walk.clone(), ..graph::BuildOptions::default() };
        let graph = Graph::build(&root, &build);
        let texts = Texts::new(&root, walk);
        let asked = Arguments { target: target.to_owned(), outline, ..Arguments::default() };
        let shown = match view(&graph, &texts, &asked) {
            Ok(view) => view.text,
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected);
    }

    #[test]
    fn parts_are_shown() {
        check("", false, "a.py (4 lines)  # Doc.\nb.py (7 lines)\n");
        check("notes.txt", false, "1 hello\n");
        check("a.py", true, "2-4: class A\n3-4:   def f(self)\n");
        check("A.f", false, "2 class A:\n3     def f(self):\n4         return 1\n");
        check("a.A", true, "2-4: class A\n3-4:   def f(self)\n");
        let b = "2-7: class B\n3-3:   x = 1\n4-7:   @property def f( self, )\n";
        check("b.B", true, b);
        check("b.py", true, &format!("1-1: LIMIT = 3\n{b}"));
    }

    #[test]
    fn long_files_are_cut_and_say_where_to_go_on() {
        let text = "x = 1\n".repeat(1_000);
        let view = counted("a.py", &text, |line| line >= 11);
        assert_eq!((view.left_out, view.next), (990 - LINES, Some(11 + LINES as u32)));
        let view = counted("a.py", &text, |line| line >= 990);
        assert_eq!((view.left_out, view.next), (0, None));
        assert_eq!(counted("a.py", "a\rb\r\nc", |line| line == 2).text, "2 b\n");
    }

    #[test]
    fn long_lines_are_cut_and_passed() {
        let text = format!("x = '{}'\ny = 1\n", "é".repeat(BYTES));
        let view = counted("a.py", &text, |_| true);
        assert_eq!((view.left_out, view.next), (0, None));
        assert!(view.text.ends_with(" more bytes]\n2 y = 1\n"), "{}", view.text.len());
        assert!(view.text.len() < LINE + 100);
    }

    #[test]
    fn lines_past_the_end_are_refused() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a.py"), "x = 1\ny = 2\n").unwrap();
        let graph = Graph::build(root.path(), &graph::BuildOptions::default());
        let texts = Texts::new(root.path(), WalkOptions::default());
        let target = "a.py".to_owned();
        let asked = Arguments { target, first: Some(3), ..Arguments::default() };
        let error = view(&graph, &texts, &asked).err().unwrap().to_string();
        assert!(error.contains("line 3 is past the end (a.py has 2 lines)"), "{error}");
    }

    fn refused(target: &str) -> String {
        match target.contains('/') || target.ends_with(".py") {
            true => format!("not found: no file {target} (files like it: a.py, b.py)"),
            false => {
                format!(
                    "nothing is named {target} (names are dotted; search for symbols to find one)"
                )
            }
        }
    }

    fn check_text(text: &str, asked: &Arguments, expected: &str) {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("m.py"), text).unwrap();
        let graph = Graph::build(root.path(), &graph::BuildOptions::default());
        let texts = Texts::new(root.path(), WalkOptions::default());
        let view = view(&graph, &texts, asked).unwrap();
        assert_eq!(view.imports + "--\n" + &view.text, expected);
    }

    #[test]
    fn a_definition_is_shown_with_its_imports() {
        let text = "import os, re\nimport sys\n\ndef f():\n    '''Doc.'''\n    # why\n    return re.X\n\n\
                    LIMIT = (\n    3\n)\n";
        let asked = |target: &str| Arguments { target: target.to_owned(), ..Arguments::default() };
        let plain = Arguments { docstrings: false, ..asked("m.f") };
        check_text(text, &plain, "1 import os, re\n--\n4 def f():\n7     return re.X\n");
        let whole = "1 import os, re\n--\n4 def f():\n5     '''Doc.'''\n6     # why\n\
                     7     return re.X\n";
        check_text(text, &asked("m.f"), whole);
        check_text(text, &asked("m.LIMIT"), "--\n9 LIMIT = (\n10     3\n11 )\n");
    }

    #[test]
    fn a_long_class_is_shown_by_its_methods_heads() {
        let method = |n| format!("    def f{n}(self):\n        return {n}\n        pass\n");
        let text = (0..100).map(method).fold("class A:\n".to_owned(), |all, one| all + &one);
        let asked = Arguments { target: "m.A".to_owned(), ..Arguments::default() };
        let first = Arguments { first: Some(2), last: Some(4), ..asked.clone() };
        check_text(&text, &first, "--\n2     def f0(self):\n3         return 0\n4         pass\n");
        let heads =
            (0..100).map(|n| format!("{}     def f{n}(self):\n[2 lines left out]\n", 3 * n + 2));
        check_text(
            &text,
            &asked,
            &heads.fold("--\n1 class A:\n".to_owned(), |all, one| all + &one),
        );
    }

    #[test]
    fn what_lies_apart_is_not_there() {
        for target in ["gist.py", "made", "record/../gist.py", "record/steps.jsonl"] {
            check(target, false, &refused(target));
        }
    }

    #[test]
    fn s17_paths_do_not_lead_out() {
        for target in ["../secret.txt", "/etc/passwd", "linked.txt", "away/secret.txt"] {
            check(target, false, &refused(target));
        }
        check("/proc/self/environ", false, &refused("/proc/self/environ"));
    }
}
