//! Parts of the repository as a model reads them: trees, outlines, numbered lines, one definition.
//!
//! Shows files that the graph knows and other regular files below the root; a path that leads out is
//! refused. Every answer is bounded and says what was cut.

use std::{fs::File, io::Read, path::Path};

use graph::{Graph, Kind, Level, Queries, Texts, TreeNode, module_tree, numbered, open_beneath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    relate::resolve,
    session::Session,
    tool::{Group, Problem, Reply, Tool, ToolError, arguments},
    toolset::schema,
};

/// Lines of one answer at most.
const LINES: usize = 400;
/// Bytes of one answer at most.
const BYTES: usize = 32_000;
/// Bytes of one line at most.
const LINE: usize = 8_000;
/// Larger files than this are not shown, in bytes.
const LARGEST: u64 = 64 << 20;

/// Shows a part of the repository.
#[derive(Debug, Default)]
pub struct ViewTool;

#[derive(Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct Arguments {
    target: String,
    outline: bool,
    first: Option<u32>,
    last: Option<u32>,
}

/// What the model reads.
#[derive(Serialize)]
pub(crate) struct View {
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) left_out: usize,
    /// The line to go on from, where a file was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<u32>,
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
        let graph = session.graph();
        let texts = session.repository.texts();
        Reply::of(&view(&graph, &texts, &asked)?)
    }
}

fn view(graph: &Graph, texts: &Texts, asked: &Arguments) -> Result<View, ToolError> {
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
            let lines = graph::outline(&text).into_iter().map(|item| {
                let indent = "  ".repeat(item.depth as usize);
                format!("{}-{}: {indent}{}", item.line, item.end_line, item.signature)
            });
            return Ok(bounded(target, lines));
        }
        let first = asked.first.unwrap_or(1).max(1);
        let last = asked.last.unwrap_or(u32::MAX);
        let lines = numbered(&text).count();
        if first > 1 && first as usize > lines {
            let past = format!("line {first} is past the end ({target} has {lines} lines)");
            return Err(Problem::BadArguments.because(past));
        }
        return Ok(counted(target, &text, |line| (first..=last).contains(&line)));
    }
    let queries = Queries::new(graph);
    let ids = resolve(&queries, target).map_err(|error| Problem::NotFound.because(error))?;
    let entity = graph.entity(ids[0]);
    let path = &graph.module(entity.module).path;
    let text = texts.of(path);
    if asked.outline && matches!(entity.kind, Kind::Class | Kind::Module) {
        let tree = module_tree(graph, entity.module, &text);
        let mut lines = Vec::new();
        outline(&tree, 0, (entity.line, entity.end_line), &mut lines);
        return Ok(bounded(path, lines));
    }
    let spans = ids.iter().map(|&id| (graph.entity(id).line, graph.entity(id).end_line));
    let spans: Vec<(u32, u32)> = spans.collect();
    let within = |line| spans.iter().any(|&(first, last)| (first..=last).contains(&line));
    Ok(counted(path, &text, within))
}

/// The file or directory that a path names, if it is below the root and not reached over a link out.
fn inside(root: &Path, target: &str) -> Option<File> {
    let file = open_beneath(root, Path::new(target)).ok()?;
    let metadata = file.metadata().ok()?;
    let shown = metadata.is_dir() || metadata.is_file() && metadata.len() <= LARGEST;
    shown.then_some(file)
}

fn plain(file: File, target: &str) -> Result<String, String> {
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

fn outline(node: &TreeNode, depth: usize, within: (u32, u32), lines: &mut Vec<String>) {
    for child in &node.children {
        let (first, last) = child.lines;
        let shown = first >= within.0 && last <= within.1;
        if shown {
            let indent = "  ".repeat(depth);
            lines.push(format!("{first}-{last}: {indent}{}", child.signature));
        }
        if child.level != Level::Function || shown {
            outline(child, depth + usize::from(shown), within, lines);
        }
    }
}

/// Lines of a file with their numbers, as many as one answer may have.
pub(crate) fn counted(path: &str, text: &str, shown: impl Fn(u32) -> bool) -> View {
    let lines: Vec<(u32, &str)> = numbered(text).filter(|&(line, _)| shown(line)).collect();
    let mut view = bounded(path, lines.iter().map(|(line, text)| format!("{line:5} {text}")));
    if view.left_out > 0 {
        view.next = lines.get(lines.len() - view.left_out).map(|&(line, _)| line);
    }
    view
}

fn bounded(path: &str, lines: impl IntoIterator<Item = String>) -> View {
    let mut view = View { path: path.to_owned(), text: String::new(), left_out: 0, next: None };
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

/// A line of bearable length, which says what is missing.
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
        check("", false, "a.py (4 lines)  # Doc.\n");
        check("notes.txt", false, "    1 hello\n");
        check("a.py", true, "2-4: class A\n3-4:   def f(self)\n");
        check("A.f", false, "    3     def f(self):\n    4         return 1\n");
        check("a.A", true, "2-4: class A\n3-4:   def f(self)\n");
    }

    #[test]
    fn long_files_are_cut_and_say_where_to_go_on() {
        let text = "x = 1\n".repeat(1_000);
        let view = counted("a.py", &text, |line| line >= 11);
        assert_eq!((view.left_out, view.next), (990 - LINES, Some(11 + LINES as u32)));
        let view = counted("a.py", &text, |line| line >= 990);
        assert_eq!((view.left_out, view.next), (0, None));
        assert_eq!(counted("a.py", "a\rb\r\nc", |line| line == 2).text, "    2 b\n");
    }

    #[test]
    fn long_lines_are_cut_and_passed() {
        let text = format!("x = '{}'\ny = 1\n", "é".repeat(BYTES));
        let view = counted("a.py", &text, |_| true);
        assert_eq!((view.left_out, view.next), (0, None));
        assert!(view.text.ends_with(" more bytes]\n    2 y = 1\n"), "{}", view.text.len());
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
        format!("nothing is named {target} (names are dotted; search for symbols to find one)")
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
