//! Tests which parts are computed again when files change.

use super::*;

struct Case {
    directory: tempfile::TempDir,
    cache: GraphCache,
}

impl Case {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let cache = GraphCache::new(directory.path().join("cache"));
        let case = Self { directory, cache };
        case.write("a.py", "from b import f\n\ndef g():\n    return f(1)\n");
        case.write("b.py", "def f(x):\n    return x\n");
        case
    }

    fn write(&self, path: &str, text: &str) {
        let root = self.directory.path().join("repo");
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join(path), text).unwrap();
    }

    fn check(&self, read: usize, parsed: usize, analysed: bool) {
        let root = self.directory.path().join("repo");
        let options = BuildOptions::default();
        let (graph, report, kept) = self.cache.build(&root, &options);
        kept.unwrap();
        assert_eq!(graph, Graph::build(&root, &options));
        assert_eq!((report.read, report.parsed, report.analysed), (read, parsed, analysed));
    }
}

#[test]
fn only_what_changed_is_done_again() {
    let case = Case::new();
    case.check(2, 2, true);
    case.check(0, 0, false);
    case.write("a.py", "# moved\n\nfrom b import f\n\ndef g():\n    # here\n    return f(1)\n");
    case.check(1, 1, false);
    case.write("a.py", "from b import f\n\ndef g():\n    return f(f)\n");
    case.check(1, 1, true);
    case.write("c.py", "import a\n");
    case.check(1, 1, true);
    case.check(0, 0, false);
}

#[test]
fn many_may_use_it_at_once() {
    let case = Case::new();
    let root = case.directory.path().join("repo");
    let options = BuildOptions { threads: 1, ..BuildOptions::default() };
    let expected = Graph::build(&root, &options);
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (case, root, options, expected) = (&case, &root, &options, &expected);
            scope.spawn(move || {
                for _ in 0..20 {
                    if writer == 0 {
                        // The same text at another time is read again.
                        case.write("b.py", "def f(x):\n    return x\n");
                    }
                    let (graph, _, kept) = case.cache.build(root, options);
                    kept.unwrap();
                    // A file is empty for a moment while it is written.
                    if writer > 0 && graph.modules[1].measures.lines > 1 {
                        assert_eq!(graph, *expected);
                    }
                }
            });
        }
    });
    let (graph, _, _) = case.cache.build(&root, &options);
    assert_eq!(graph, expected);
    let left: Vec<_> = fs::read_dir(case.directory.path().join("cache")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn d02_a_damaged_cache_is_replaced() {
    let case = Case::new();
    case.check(2, 2, true);
    let file =
        fs::read_dir(case.directory.path().join("cache")).unwrap().next().unwrap().unwrap().path();
    let whole = fs::read(&file).unwrap();
    for cut in (0..whole.len()).step_by(7) {
        fs::write(&file, &whole[..cut]).unwrap();
        case.check(2, 2, true);
    }
}
