//! Provides the one `check` of these tests: marked sources in, a marked gist out.
//!
//! Each line of a source begins with a mark for the time of its execution:
//!
//! - `+` before the tests, `*` in them, `=` in both
//! - `!` in the tests, and an exception of a test came from it
//! - `&` in the tests and outside the main thread
//! - `-` or a space: never
//!
//! A function counts as entered when a line of its body was executed. If its body is on the line of
//! its `def`, that line has to be executed in the tests. Each line of a gist begins with its
//! origin: a space for a line of the original, `~` for an adapted one, `+` for glue.

use gistify_graph::{
    Adjustments, ConsoleScript, Fixture, Gist, GistLine, Glue, LineOrigin, ModuleSnapshot, Place,
    Sliceable, Source, Syntax, TRACE_VERSION, Trace, TracePhase, Value,
};

use super::marked::{Marked, module_lines};

/// Slices `files` for `tests` and compares the gist with `expected`.
///
/// `files` has sections that begin with `--- path`. Two are no files: `--- adjustments` holds them as
/// JSON, and `--- trace` what no mark can say, a line each: `root DIR`, `compiled MODULE PATH`,
/// `external MODULE`, `overrides MODULE:CLASS METHOD...`, `generated MODULE NAME...`, `mentions NAME...`,
/// `entry SCRIPT MODULE ATTRIBUTE`, `fixture NAME PATH LINE`, `python MINOR`, `holds MODULE NAME class|function MODULE:QUALNAME`,
/// `holds MODULE NAME module|other NAME`, `runs PATH MODULE`, `evaluates PATH LINE TEXT` for what is evaluated on demand, `loads PATH LINE PATH...` for files that this line
/// asked for in the tests, and `helps PATH`. `tests` are node ids, separated by spaces.
#[track_caller]
pub fn check(files: &str, tests: &str, expected: &str) {
    let case = Case::parse(files);
    let tests: Vec<(String, Vec<String>)> = tests
        .split_whitespace()
        .map(|id| {
            let mut parts = id.split("::").map(str::to_owned);
            (parts.next().expect("a path"), parts.collect())
        })
        .collect();
    for source in &case.sources {
        let errors = source.syntax.errors();
        assert!(errors.is_empty(), "{} does not parse: {errors:?}", source.path);
    }
    let trace = case.trace(&tests);
    let sources = case.sources.iter().map(|file| Source::new(&file.path, &file.text)).collect();
    let helpers = case.facts("helps").map(|fact| fact[0].clone()).collect();
    let sliceable = Sliceable::parse(&trace, sources, &tests, &helpers).expect("something ran");
    let place = tests[0].0.rsplit_once('/').map_or(String::new(), |(dir, _)| format!("{dir}/"));
    let gist_path = format!("{place}concise.py");
    let (_, gist) = sliceable.slice(&trace, &tests, &gist_path, &case.adjustments);
    let (_, again) = sliceable.slice(&trace, &tests, &gist_path, &case.adjustments);
    assert_eq!(gist, again, "the same input gives another gist");

    let shown = show(&gist);
    let wanted: String =
        expected.trim_matches('\n').lines().map(|line| format!("{}\n", line.trim_end())).collect();
    assert!(shown == wanted, "expected:\n{wanted}\ngot:\n{shown}\nof:\n{}", gist.text);
    assert!(gist.text.ends_with('\n') && gist.text.lines().count() == gist.lines.len());
    let errors = Syntax::parse(Source::new(&gist_path, &gist.text)).errors();
    assert!(errors.is_empty(), "the gist does not parse: {errors:?}\n{}", gist.text);
    // An entry point is the only glue of several lines, a statement for the gist's last ones.
    let whole = gist.text.split_once("if __name__ == \"__main__\":\n    sys.argv[0]");
    let last = whole.map_or(gist.lines.len(), |(before, _)| before.lines().count());
    let class = Glue::LateModules.render();
    for (text, line) in gist.text.lines().zip(&gist.lines).take(last) {
        let is_glue = matches!(line.origin, LineOrigin::Glue(_));
        let is_form = |text: &str| Glue::parse_text(text.trim()).is_some();
        // The head of a block is glue, and what the class of such blocks has.
        let is_known = || {
            is_form(text)
                || is_form(&format!("{text} pass"))
                || class.lines().any(|own| own == text)
        };
        assert!(!is_glue || is_known(), "`{text}` is no form of glue");
        let LineOrigin::Source(place) = &line.origin else { continue };
        let file = case.sources.iter().find(|file| file.path == place.path).expect("a source");
        assert!(
            line.adapted || file.matches_line(place.line, text),
            "`{text}` is not on line {} of {}",
            place.line,
            place.path
        );
        let support = tests.iter().any(|(path, _)| *path == file.path);
        assert!(!(line.adapted && support), "`{text}` of the test was adapted");
    }
}

/// A gist with the origins of its lines in front. Of the class by which blocks run as modules the first line stands for
/// all.
fn show(gist: &Gist) -> String {
    let marked = |(text, line): (&str, &GistLine)| {
        let mark = match (&line.origin, line.adapted) {
            (LineOrigin::Glue(_), _) => '+',
            (LineOrigin::Source(_), true) => '~',
            (LineOrigin::Source(_), false) => ' ',
        };
        format!("{}\n", format!("{mark}{text}").trim_end())
    };
    let shown: String = gist.text.lines().zip(&gist.lines).map(marked).collect();
    let class = Glue::LateModules.render();
    let class: String = class.lines().map(|line| format!("+{line}\n")).collect();
    let head = class.lines().next().unwrap_or_default();
    shown.replace(&class, &format!("{head}\n"))
}

#[derive(Default)]
struct Case {
    sources: Vec<Marked>,
    adjustments: Adjustments,
    facts: Vec<Vec<String>>,
}

impl Case {
    fn parse(files: &str) -> Self {
        let mut case = Self::default();
        for section in format!("\n{}", files.trim_matches('\n')).split("\n--- ").skip(1) {
            let (name, body) = section.split_once('\n').unwrap_or((section, ""));
            match name {
                "adjustments" => {
                    case.adjustments = serde_json::from_str(body).expect("adjustments in JSON");
                }
                "trace" => case.facts.extend(
                    body.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()),
                ),
                path => case.sources.push(Marked::parse(path, body)),
            }
        }
        case
    }

    fn facts<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a [String]> {
        self.facts.iter().filter(move |fact| fact[0] == kind).map(|fact| &fact[1..])
    }

    fn trace(&self, tests: &[(String, Vec<String>)]) -> Trace {
        let mut roots: Vec<String> = self.facts("root").map(|fact| fact[0].clone()).collect();
        roots.push(String::new());
        let names: Vec<String> = self
            .sources
            .iter()
            .map(|file| {
                let given = self.facts("runs").find(|fact| fact[0] == file.path);
                given.map_or_else(|| module_name(&file.path, &roots), |fact| fact[1].clone())
            })
            .collect();
        let mut order: Vec<usize> = (0..self.sources.len()).collect();
        let test = |at: &usize| tests.iter().position(|(path, _)| *path == self.sources[*at].path);
        let conftest = |at: &usize| self.sources[*at].path.ends_with("conftest.py");
        order.sort_by_key(|at| (!conftest(at), test(at).is_none(), test(at), *at));
        let mut lines = module_lines(&self.sources, &names, order);

        let mut trace = Trace { version: TRACE_VERSION, roots, ..Trace::default() };
        let minor =
            self.facts("python").next().map(|fact| fact[0].parse().expect("a minor version"));
        trace.python = (3, minor.unwrap_or(11), 0);
        if trace.python >= (3, 14, 0) {
            trace.tracer = "monitoring".to_owned();
        }
        for (at, (file, name)) in self.sources.iter().zip(&names).enumerate() {
            trace.files.push(file.traced(name, lines.remove(&at).unwrap_or_default()));
            trace.fixtures.extend(file.fixtures());
            let snapshot = ModuleSnapshot { path: file.path.clone(), ..ModuleSnapshot::default() };
            if self.facts("runs").all(|fact| fact[0] != file.path) {
                trace.modules.insert(name.clone(), snapshot);
            }
        }
        trace.files.sort_by(|left, right| left.path.cmp(&right.path));
        for fact in self.facts("loads") {
            let line = fact[1].parse().expect("a line");
            let importer = Place { path: fact[0].clone(), line };
            for file in trace.files.iter_mut().filter(|file| fact[2..].contains(&file.path)) {
                (file.phase, file.importer) = (TracePhase::Test, Some(importer.clone()));
            }
        }
        for fact in self.facts("evaluates") {
            let line: u32 = fact[1].parse().expect("a line");
            let source = self.sources.iter().find(|file| file.path == fact[0]).expect("a file");
            let text = source.text.lines().nth(line as usize - 1).expect("a line");
            let column = text.find(&fact[2..].join(" ")).expect("a text of the line");
            let file = trace.files.iter_mut().find(|file| file.path == fact[0]).expect("a file");
            file.evaluated.push((line, u32::try_from(column).expect("a column")));
            file.evaluated.sort_unstable();
        }
        for file in &self.sources {
            for module in file.imported() {
                if names.iter().all(|name| module.split('.').next() != name.split('.').next()) {
                    trace.external.insert(module, String::new());
                }
            }
        }
        for fact in self.facts("external") {
            trace.external.insert(fact[0].clone(), String::new());
        }
        for fact in self.facts("compiled") {
            trace.compiled.insert(fact[0].clone(), fact[1].clone());
        }
        for fact in self.facts("overrides") {
            trace.abstract_overrides.insert(fact[0].clone(), fact[1..].to_vec());
        }
        for fact in self.facts("generated") {
            trace.generated.imports.push(fact[0].clone());
            trace.generated.names.extend_from_slice(&fact[1..]);
        }
        for fact in self.facts("mentions") {
            trace.generated.names.extend_from_slice(fact);
        }
        trace.generated.names.sort_unstable();
        for fact in self.facts("fixture") {
            let (name, path) = (fact[0].clone(), fact[1].clone());
            let line = fact[2].parse().expect("a line");
            trace.fixtures.push(Fixture { name, path, line });
        }
        for fact in self.facts("entry") {
            let [script, module, attribute] = fact else { panic!("entry SCRIPT MODULE ATTRIBUTE") };
            let (script, module) = (script.clone(), module.clone());
            trace.entry = Some(ConsoleScript { script, module, attribute: attribute.clone() });
        }
        for fact in self.facts("holds") {
            let snapshot = trace.modules.get_mut(&fact[0]).expect("a module");
            let pair = || {
                let (module, name) = fact[3].split_once(':').expect("MODULE:QUALNAME");
                (module.to_owned(), name.to_owned())
            };
            let value = match fact[2].as_str() {
                "class" => Value::Class(pair().0, pair().1),
                "function" => Value::Function(pair().0, pair().1),
                "module" => Value::Module(fact[3].clone()),
                _ => Value::Other(fact[3].clone()),
            };
            snapshot.names.insert(fact[1].clone(), value);
        }
        trace
    }
}

fn module_name(path: &str, roots: &[String]) -> String {
    let inside = |root: &String| path.strip_prefix(root.as_str())?.strip_prefix('/');
    let inner = roots.iter().filter(|root| !root.is_empty()).find_map(inside).unwrap_or(path);
    inner.trim_end_matches(".py").trim_end_matches("/__init__").replace('/', ".")
}
