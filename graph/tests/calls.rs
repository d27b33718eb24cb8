//! Tests the call graph of small sources: certain edges, and the reasons for a missing one.

use gistify_graph::{Graph, Queries, Reached, Tier, Unresolved, Way};

/// Splits `# path` lines off; the lines before the first one are `m.py`.
fn built(text: &str) -> Graph {
    let mut files = vec![("m.py", String::new())];
    for line in text.lines() {
        match line.strip_prefix("# ") {
            Some(path) => files.push((path, String::new())),
            None => files.last_mut().unwrap().1.extend([line, "\n"]),
        }
    }
    files.retain(|(_, text)| !text.trim().is_empty());
    Graph::of_sources(files.iter().map(|(path, text)| (*path, text.as_str())))
}

/// Certain edges, as `caller -> callee`, or `caller -> callee xN` where there are several sites.
fn check(text: &str, expected: &[&str]) {
    let graph = built(text);
    let mut found: Vec<String> = graph
        .calls
        .iter()
        .map(|edge| {
            let (from, to) = (graph.qualified(edge.caller), graph.qualified(edge.callee));
            let times = if edge.weight > 1 { format!(" x{}", edge.weight) } else { String::new() };
            format!("{from} -> {to}{times}")
        })
        .collect();
    found.sort();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn names_aliases_and_imports_are_followed() {
    check("def f(): pass\ng = f\ng()\ng()\n", &["m -> m.f x2"]);
    check("from a import f as g\ng()\n# a.py\ndef f(): pass\n", &["m -> a.f"]);
    check(
        "import p.q\np.q.f()\n# p/__init__.py\nx = 1\n# p/q.py\ndef f(): pass\n",
        &["m -> p.q.f"],
    );
    check(
        "from p import f\nf()\n# p/__init__.py\nfrom .q import *\n# p/q.py\ndef f(): pass\n",
        &["m -> p.q.f"],
    );
    check("def f():\n    def g(): pass\n    g()\n", &["m.f -> m.f.g"]);
    check("def f(): pass\ndef f(): pass\nf()\n", &["m -> m.f"]);
}

#[test]
fn a_package_that_names_its_submodule_still_has_it() {
    let sub = "# pk/sub.py\ndef sf(): pass\nclass C:\n    def go(self): pass\n";
    for import in ["from . import sub", "from . import sub as sub", "from pk import sub"] {
        let check = |text: &str, expected: &[&str]| {
            check(&format!("{text}# pk/__init__.py\n{import}\n{sub}"), expected);
        };
        check("import pk\npk.sub.sf()\n", &["m -> pk.sub.sf"]);
        check("from pk import sub\nsub.sf()\n", &["m -> pk.sub.sf"]);
        check("import pk\nclass X(pk.sub.C): pass\nX().go()\n", &["m -> m.X", "m -> pk.sub.C.go"]);
    }
}

#[test]
fn classes_are_searched_in_their_order() {
    let shapes = "class A:\n    def f(self): self.g()\n    def g(self): pass\n\
                  class B(A):\n    def g(self): pass\n";
    check(&format!("{shapes}A().f()\n"), &["m -> m.A", "m -> m.A.f", "m.A.f -> m.A.g"]);
    check(
        &format!("{shapes}B().f()\n"),
        &["m -> m.A.f", "m -> m.B", "m.A.f -> m.A.g", "m.A.f -> m.B.g"],
    );
    check(
        "class A:\n    def __init__(self): pass\nclass B(A):\n    def __init__(self):\n        \
         super().__init__()\nB()\n",
        &["m -> m.B.__init__", "m.B.__init__ -> m.A.__init__"],
    );
    check(
        "class X:\n    def f(self): pass\nclass A(X): pass\nclass B(X):\n    def f(self): pass\n\
         class C(A, B): pass\nC().f()\n",
        &["m -> m.B.f", "m -> m.C"],
    );
    check(
        "class A:\n    @classmethod\n    def make(cls): return cls()\n    def f(self): pass\n\
         class B(A): pass\nB.make().f()\n",
        &["m -> m.A.f", "m -> m.A.make", "m.A.make -> m.A", "m.A.make -> m.B"],
    );
}

#[test]
fn values_are_followed_through_attributes_and_containers() {
    check(
        "def f(): pass\nclass A:\n    def __init__(self, x): self.x = x\n    def run(self): self.x()\n\
         A(f).run()\n",
        &["m -> m.A.__init__", "m -> m.A.run", "m.A.run -> m.f"],
    );
    check("def f(): pass\ndef g(): return f\ng()()\n", &["m -> m.f", "m -> m.g"]);
    check("def f(): pass\nd = {'k': f}\nd['k']()\n", &["m -> m.f"]);
    check("def f(): pass\ndef g(): pass\nfor h in [f, g]:\n    h()\n", &["m -> m.f", "m -> m.g"]);
    check("def f(): pass\ndef g(h): h()\ng(f)\ng(h=f)\n", &["m -> m.g x2", "m.g -> m.f"]);
    check(
        "from functools import partial\ndef f(): pass\npartial(f, 1)()\nlist(map(f, []))\n",
        &["m -> m.f x2"],
    );
}

#[test]
fn what_calls_without_parentheses_counts() {
    check(
        "def d(f):\n    def w(): return f()\n    return w\n@d\ndef g(): pass\ng()\n",
        &["m -> m.d", "m -> m.d.w", "m.d.w -> m.g"],
    );
    check(
        "class A:\n    @property\n    def p(self): pass\ndef f(): return A().p\n",
        &["m.f -> m.A", "m.f -> m.A.p"],
    );
    check(
        "class A:\n    def __enter__(self): return self\n    def __exit__(self, *a): pass\n    \
         def __iter__(self): return self\n    def __next__(self): pass\ndef f():\n    \
         with A() as a:\n        for x in a: pass\n",
        &[
            "m.f -> m.A",
            "m.f -> m.A.__enter__",
            "m.f -> m.A.__exit__",
            "m.f -> m.A.__iter__",
            "m.f -> m.A.__next__",
        ],
    );
    check("class E(Exception):\n    def __init__(self): pass\nraise E\n", &["m -> m.E.__init__"]);
    check(
        "class A:\n    def __call__(self): pass\na = A()\na()\n",
        &["m -> m.A", "m -> m.A.__call__"],
    );
}

#[test]
fn caches_with_settings_give_back_what_they_decorate() {
    for decorator in ["lru_cache", "lru_cache()", "lru_cache(maxsize=None)", "lru_cache(8)"] {
        let source = format!("@functools.{decorator}\ndef f(): pass\ndef g(): f()\n");
        check(&format!("import functools\n{source}"), &["m.g -> m.f"]);
    }
    let source = "from functools import lru_cache\ndef f(): pass\n";
    check(&format!("{source}g = lru_cache(None)(f)\ng()\n"), &["m -> m.f"]);
    check(&format!("{source}g = lru_cache(f)\ng()\n"), &["m -> m.f"]);
}

#[test]
fn nonlocal_bindings_reach_the_scope_that_owns_them() {
    check(
        "def target(): pass\ndef top():\n    f = None\n    def s():\n        nonlocal f\n        \
         f = target\n    s()\n    f()\n",
        &["m.top -> m.target", "m.top -> m.top.s"],
    );
    check(
        "def a(): pass\ndef b(): pass\ndef top(f=a):\n    def mid():\n        def s():\n            \
         nonlocal f\n            f = b\n        s()\n    mid()\n    return f()\n",
        &["m.top -> m.a", "m.top -> m.b", "m.top -> m.top.mid", "m.top.mid -> m.top.mid.s"],
    );
}

#[test]
fn generated_initialisers_call_what_follows_them() {
    let data = "from dataclasses import dataclass\nclass B:\n    def __init__(self): pass\n\
                @dataclass\nclass A(B):\n    x: int\n    def __post_init__(self): pass\n";
    check(&format!("{data}A(1)\n"), &["m -> m.A", "m -> m.A.__post_init__"]);
    let plain = data.replace("@dataclass", "@dataclass(init=False)");
    check(&format!("{plain}A(1)\n"), &["m -> m.B.__init__"]);
    check(&format!("{data}class C(A): pass\nC(1)\n"), &["m -> m.A.__post_init__", "m -> m.C"]);
    let own = "class C(A):\n    def __post_init__(self): pass\nC(1)\n";
    check(&format!("{data}{own}"), &["m -> m.C", "m -> m.C.__post_init__"]);
    // What is no data class, or was none that knew of it, runs nothing of this name.
    check("class C:\n    def __post_init__(self): pass\nC()\n", &["m -> m.C"]);
    let base = "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\n";
    check(&format!("{base}{own}"), &["m -> m.C"]);
}

#[test]
fn properties_are_read_stored_and_deleted() {
    let source = "class P:\n    @property\n    def x(self): return 1\n    @x.setter\n    \
                  def x(self, to): stored()\n    @x.deleter\n    def x(self): deleted()\n\
                  def stored(): pass\ndef deleted(): pass\n";
    let lines = |use_of: &str| {
        let graph = built(&format!("{source}def f():\n    p = P()\n    {use_of}\n"));
        let called = graph.calls.iter().filter(|edge| graph.qualified(edge.caller) == "m.f");
        called.map(|edge| graph.entity(edge.callee).keyword_line).collect::<Vec<u32>>()
    };
    assert_eq!(lines("return p.x"), [1, 3]);
    assert_eq!(lines("p.x = None"), [1, 5]);
    assert_eq!(lines("p.x += 1"), [1, 3, 5]);
    assert_eq!(lines("del p.x"), [1, 7]);
    assert_eq!(lines("p.y = 1"), [1]);
}

#[test]
fn what_is_changed_in_place_is_read_once() {
    let source = "class A:\n    def __init__(self): self.f = f\n    @property\n    \
                  def n(self): return 1\n    @n.setter\n    def n(self, to): pass\n\
                  def f(): pass\ndef make(): return A()\n";
    check(
        &format!("{source}def g(): make().n += f()\n"),
        &["m.g -> m.A.n", "m.g -> m.A.n", "m.g -> m.f", "m.g -> m.make", "m.make -> m.A.__init__"],
    );
    check(
        "def f(): pass\ndef k(): pass\nd = {0: f}\nd[k()] += 1\nd[0]()\n",
        &["m -> m.f", "m -> m.k"],
    );
}

#[test]
fn lambdas_generators_and_async_count() {
    check("def f(): pass\ng = lambda: f()\ng()\n", &["m -> m.<lambda>", "m.<lambda> -> m.f"]);
    check(
        "def f(): pass\ndef g():\n    yield f\nfor h in g():\n    h()\n",
        &["m -> m.f", "m -> m.g"],
    );
    check(
        "async def f(): return g\ndef g(): pass\nasync def h():\n    (await f())()\n",
        &["m.h -> m.f", "m.h -> m.g"],
    );
}

#[test]
fn branches_that_targets_never_take_bind_nothing() {
    let windows =
        "import sys\nfrom outside import f\nif sys.platform == 'win32':\n    def f(): pass\nf()\n";
    check(windows, &[]);
    check(
        "import sys\nif sys.version_info >= (3, 8):\n    def f(): pass\nelse:\n    from old import f\nf()\n\
         # old.py\ndef f(): pass\n",
        &["m -> m.f"],
    );
}

#[test]
fn tested_attributes_tell_objects_apart() {
    let jars = "class A:\n    def copy(self): pass\n    def put(self): pass\n\
                class B:\n    def put(self): pass\n";
    check(
        &format!(
            "{jars}def f(x):\n    if hasattr(x, 'copy'):\n        return x.copy()\n    x.put()\n\
                  f(A())\nf(B())\n"
        ),
        &["m -> m.A", "m -> m.B", "m -> m.f x2", "m.f -> m.A.copy", "m.f -> m.B.put"],
    );
    check(
        &format!(
            "{jars}def f(x):\n    try:\n        x.copy()\n    except AttributeError:\n        \
                  x.put()\nf(A())\nf(B())\n"
        ),
        &["m -> m.A", "m -> m.B", "m -> m.f x2", "m.f -> m.A.copy", "m.f -> m.B.put"],
    );
}

#[test]
fn what_is_given_by_position_is_not_given_again() {
    check(
        "class A:\n    def go(self): pass\nclass B:\n    def go(self): pass\ndef f(x, y): x.go()\n\
         def g(a, **more): f(a, **more)\ng(A(), x=B())\n",
        &["m -> m.A", "m -> m.B", "m -> m.g", "m.f -> m.A.go", "m.g -> m.f"],
    );
}

#[test]
fn abstract_methods_give_way_to_what_is_written() {
    let source = "class A:\n    def f(self):\n        '''Do.'''\n        raise NotImplementedError\n\
                  class B(A):\n    def f(self): pass\n";
    check(
        &format!("{source}def g(x: A): x.f()\ng(B())\n"),
        &["m -> m.B", "m -> m.g", "m.g -> m.B.f"],
    );
    check(&format!("{source}def g(x: A): x.f()\n"), &["m.g -> m.A.f"]);
}

#[test]
fn a_replaced_definition_is_seen_where_it_is_replaced() {
    check(
        "import a\ndef fake(): pass\na.f = fake\na.f()\n# a.py\ndef f(): pass\ndef g(): f()\n",
        &["a.g -> a.f", "m -> a.f", "m -> m.fake"],
    );
}

/// Why a site of this name has no certain callee.
fn check_reason(text: &str, name: &str, expected: Option<&Unresolved>) {
    let graph = built(text);
    let site = graph.sites.iter().find(|site| site.name == name).unwrap();
    assert_eq!(site.unresolved.as_ref(), expected, "{text}");
}

#[test]
fn unresolved_calls_say_why() {
    let outside = Unresolved::Outside("os.path.join".into());
    check_reason("import os\nos.path.join()\n", "join", Some(&outside));
    let print = Unresolved::Outside("builtins.print".into());
    check_reason("print()\n", "print", Some(&print));
    check_reason("def f(x): x.go()\n", "go", Some(&Unresolved::Unknown));
    check_reason("import lib\nlib.make().go()\n", "go", Some(&Unresolved::Foreign));
    let many: String = (0..30).map(|n| format!("def f{n}(): pass\n")).collect();
    let list: Vec<String> = (0..30).map(|n| format!("f{n}")).collect();
    let source = format!("{many}for g in [{}]:\n    g()\n", list.join(", "));
    check_reason(&source, "g", Some(&Unresolved::Ambiguous));
    check_reason("def f(): pass\nf()\n", "f", None);
}

/// Checks the possible callees of `name`, or its possible callers.
fn check_possible(text: &str, name: &str, way: Way, expected: &[&str]) {
    let graph = built(text);
    let queries = Queries::new(&graph);
    let id = graph.ids().find(|&id| graph.qualified(id) == name).unwrap();
    let (found, _) = queries.possible_calls(&[id], way, 1);
    let found: Vec<String> = found.into_iter().map(|reached| graph.qualified(reached.id)).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn overrides_behind_an_annotation_are_possible() {
    let source = "class A:\n    def f(self): pass\nclass B(A):\n    def f(self): pass\n\
                  class C:\n    def f(self): pass\ndef g(x: A): x.f()\n";
    check(source, &["m.g -> m.A.f"]);
    check_possible(source, "m.g", Way::Forward, &["m.B.f"]);
    check_possible(source, "m.B.f", Way::Backward, &["m.g"]);
    check_possible(source, "m.C.f", Way::Backward, &[]);
    let source = "class A:\n    def f(self): raise NotImplementedError\nclass B(A):\n    \
                  def f(self): pass\ndef g(x: A): x.f()\ng(B())\n";
    check_possible(source, "m.A.f", Way::Backward, &["m.g"]);
    let source = "class C:\n    def f(self): pass\ndef g(x): x.f()\n";
    check_possible(source, "m.g", Way::Forward, &["m.C.f"]);
    check_possible(source, "m.C.f", Way::Backward, &["m.g"]);
}

#[test]
fn constructors_are_found_by_every_name_that_runs_them() {
    let source = "class Base:\n    def __init__(self): pass\nclass Sub(Base): pass\n\
                  class Own(Base):\n    def __init__(self): pass\n\
                  def base(x): x.Base()\ndef sub(x): x.Sub()\ndef own(x): x.Own()\n\
                  def plain(x): x.__init__()\n";
    check_possible(source, "m.sub", Way::Forward, &["m.Base.__init__"]);
    check_possible(source, "m.Base.__init__", Way::Backward, &["m.base", "m.sub", "m.plain"]);
    check_possible(source, "m.Own.__init__", Way::Backward, &["m.own", "m.plain"]);
}

#[test]
fn a_name_that_fits_too_much_leads_nowhere() {
    // With how many definitions of the name the possible calls are found, and how many sites are not.
    for (count, expected, left_out) in [(32, 1, 0), (33, 0, 1)] {
        let classes = (1..count).map(|at| format!("class C{at}:\n    def get(self): pass\n"));
        let source = format!(
            "def f(x): x.get()\nclass C:\n    def get(self): g()\ndef g(): pass\n{}",
            classes.collect::<String>()
        );
        let graph = built(&source);
        let queries = Queries::new(&graph);
        let named = |name: &str| graph.ids().find(|&id| graph.qualified(id) == name).unwrap();
        for (name, way) in [("m.f", Way::Forward), ("m.C.get", Way::Backward)] {
            let (found, vague) = queries.possible_calls(&[named(name)], way, 1);
            let number = if way == Way::Forward { expected * count } else { expected };
            assert_eq!((found.len(), vague), (number, left_out), "{name} of {count}");
        }
        let (path, vague) = queries.path(&[named("m.f")], &[named("m.g")]);
        assert_eq!((path.len(), vague), (expected * 3, left_out), "{count}");
    }
}

#[test]
fn a_site_that_is_known_in_part_keeps_the_reason() {
    let rest = "def target(): pass\nclass C:\n    def go(self): pass\n";
    for chosen in [
        "h = target if flag else x.go",
        "if flag:\n        h = target\n    else:\n        h = x.go",
    ] {
        let source = format!("def mixed(x, flag):\n    {chosen}\n    h()\n{rest}");
        check(&source, &["m.mixed -> m.target"]);
        check_reason(&source, "h", Some(&Unresolved::Unknown));
        check_possible(&source, "m.mixed", Way::Forward, &["m.C.go"]);
        check_possible(&source, "m.C.go", Way::Backward, &["m.mixed"]);
    }
    check_reason(&format!("{rest}h = target\nh()\n"), "h", None);
}

/// Checks a chain of calls, and the callees up to a depth; possible ones are in brackets.
fn check_chains(text: &str, from: &str, to: &str, chain: &[&str], called: &[&str]) {
    let graph = built(text);
    let queries = Queries::new(&graph);
    let named = |name: &str| graph.ids().find(|&id| graph.qualified(id) == name).unwrap();
    let shown = |id, tier| match tier {
        Tier::Certain => graph.qualified(id),
        Tier::Possible => format!("({})", graph.qualified(id)),
    };
    let (path, _) = queries.path(&[named(from)], &[named(to)]);
    assert_eq!(path.into_iter().map(|(id, tier)| shown(id, tier)).collect::<Vec<_>>(), chain);
    let mut reached = queries.calls(&[named(from)], Way::Forward, 2);
    reached.extend(queries.possible_calls(&[named(from)], Way::Forward, 2).0);
    let line = |r: &Reached| {
        let calls = r.calls.iter().map(|&(caller, line)| {
            let path = &graph.module(graph.entity(caller).module).path;
            format!("{} {path}:{line}", graph.qualified(caller))
        });
        let calls: Vec<String> = calls.collect();
        format!("{} {} [{}]", r.depth, shown(r.id, r.tier), calls.join(", "))
    };
    assert_eq!(reached.iter().map(line).collect::<Vec<_>>(), called);
}

#[test]
fn chains_go_on_through_what_is_possible() {
    let source = "def a(x):\n    b()\n    x.go()\n    b()\ndef b(): pass\nclass C:\n    \
                  def go(self): c()\ndef c(): pass\n";
    check_chains(
        source,
        "m.a",
        "m.c",
        &["m.a", "(m.C.go)", "m.c"],
        &["1 m.b [m.a m.py:2, m.a m.py:4]", "1 (m.C.go) [m.a m.py:3]", "2 (m.c) [m.C.go m.py:7]"],
    );
    let certain = format!("{source}def d(x):\n    x.go()\n    e()\ndef e(): c()\n");
    check_chains(
        &certain,
        "m.d",
        "m.c",
        &["m.d", "m.e", "m.c"],
        &["1 m.e [m.d m.py:11]", "2 m.c [m.e m.py:12]", "1 (m.C.go) [m.d m.py:10]"],
    );
}

#[test]
fn a_method_beside_its_class_calls_once() {
    let source = "def f(): A().m()\nclass A:\n    def m(self): g()\ndef g(): pass\n";
    let called = ["1 m.A [m.f m.py:1]", "1 m.A.m [m.f m.py:1]", "2 m.g [m.A.m m.py:3]"];
    check_chains(source, "m.f", "m.g", &["m.f", "m.A.m", "m.g"], &called);
}

#[test]
fn calls_of_several_files_say_whose_lines_they_are() {
    let source = "from a import g\nfrom b import h\ndef f():\n    h()\n    g()\n# a.py\n\n\
                  def g(): k()\ndef k(): pass\n# b.py\nfrom a import k\ndef h(): k()\n";
    let called = ["1 a.g [m.f m.py:5]", "1 b.h [m.f m.py:4]", "2 a.k [a.g a.py:2, b.h b.py:2]"];
    check_chains(source, "m.f", "a.k", &["m.f", "a.g", "a.k"], &called);
}

#[test]
fn possible_edges_are_listed_once() {
    let graph = built("def f(x):\n    x.go()\n    x.go()\nclass C:\n    def go(self): pass\n");
    let (edges, left_out) = Queries::new(&graph).possible_edges();
    let named: Vec<_> = edges
        .iter()
        .map(|call| (graph.qualified(call.edge.callee), call.edge.weight, call.edge.line))
        .collect();
    assert_eq!((named, left_out), (vec![("m.C.go".to_owned(), 2, 2)], 0));
}
