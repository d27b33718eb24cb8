//! Names that are changed back, and such that are not.

use super::*;
use crate::scorers::Executed;

#[track_caller]
fn check(text: &str, places: Places, expected: &str) {
    let codebase = Codebase::of_texts([
        ("pkg/__init__.py", ""),
        ("pkg/util.py", "import numpy as np\nnp.f"),
        ("pkg/np.py", ""),
        (
            "pkg/kit.py",
            "from collections.abc import Callable\ndef call(f: Callable): pass\nKIND = Callable[[], int]",
        ),
        ("pkg/kin.py", "from typing import Callable\ndef make(f: Callable): pass\n"),
        ("pkg/str.py", ""),
        ("tests/a.py", "import pkg\nfrom pkg import util, str\npkg, util.f, str.f"),
    ]);
    let is_internal = |name: &str| name.starts_with("pkg");
    let ran = codebase.files().iter().map(|file| (file.path.clone(), vec![1]));
    let executed = Executed::new(ran);
    let originals = Originals::new(&codebase, &executed, &is_internal);
    let plain = without_aliases(text, places, Some(&originals));
    assert_eq!(plain.lines().last(), Some(expected), "{text}");
}

#[test]
fn names_of_collisions_are_changed_back() {
    let text = "svd_linalg = svd\nsvd = wrapped(linalg.svd_linalg, svd_linalg)\n";
    check(text, Places::Names, "svd = wrapped(linalg.svd_linalg, svd)");
    check(text, Places::NamesAndAttributes, "svd = wrapped(linalg.svd, svd)");
    check("a = f\nx = f'{a}'", Places::Names, "x = f'{f}'");
    check("a = f\nx = [a for b in a]", Places::Names, "x = [f for b in f]");
}

#[test]
fn the_gist_in_the_place_of_a_module_has_its_name() {
    let check = |head: &str, line: &str, expected: &str| {
        check(&format!("import sys\n{head}\n{line}"), Places::Names, expected);
    };
    let head = "app = util_gist = np_gist = str_gist = sys.modules.get(__name__)";
    check(head, "x = util_gist.f(1)", "x = util.f(1)");
    for line in ["x = app.f(1)", "x = np_gist.f(1)", "x = str_gist.f(1)"] {
        check(head, line, line);
    }
    for other in [
        "util_gist = sys.modules.get('other')",
        "util_gist = other.get(__name__)",
        "_gist = sys.modules.get(__name__)",
        "util_gist = sys.modules.get(__name__)\nutil_gist = 1",
        "util_gist = sys.modules.get(__name__)\nsys = other",
        "import other as sys\nutil_gist = sys.modules.get(__name__)",
    ] {
        check(other, "x = util_gist.f(_gist)", "x = util_gist.f(_gist)");
    }
}

#[test]
fn packages_that_the_gist_stands_for_have_parts_of_their_own_names() {
    let head = "import sys\npkg = util_gist = util = sys.modules.get(__name__)\nf_util = f\n";
    for (line, expected) in [
        ("x = pkg.f_util(1)", "x = pkg.f(1)"),
        ("x = pkg.util.f_util(1)", "x = pkg.util.f(1)"),
        ("x = pkg.util_gist.f_util(1)", "x = pkg.util.f(1)"),
        ("x = other.f_util(1)", "x = other.f_util(1)"),
        ("x = pkg.other.f_util(1)", "x = pkg.other.f_util(1)"),
        ("x = pkg.f().f_util(1)", "x = pkg.f().f_util(1)"),
        ("def g(pkg): return pkg.f_util", "def g(pkg): return pkg.f_util"),
        ("def g(util): return pkg.util.f_util", "def g(util): return pkg.util.f"),
    ] {
        check(&format!("{head}{line}"), Places::Names, expected);
    }
}

#[test]
fn what_a_statement_of_the_original_has_from_outside_has_its_own_name_there() {
    let head =
        "from typing import Callable\nfrom collections.abc import Callable as Callable_abc\n";
    let types =
        "from collections.abc import Callable\nfrom typing import Callable as Callable_typing\n";
    for (head, line, expected) in [
        (head, "def call(f: Callable_abc): pass", "def call(f: Callable): pass"),
        (head, "KIND = Callable_abc[[], int]", "KIND = Callable[[], int]"),
        (types, "def make(f: Callable_typing): pass", "def make(f: Callable): pass"),
        // The other's, what nobody defines, what is given something else, and what gives no name.
        (head, "def make(f: Callable_abc): pass", "def make(f: Callable_abc): pass"),
        (head, "def other(f: Callable_abc): pass", "def other(f: Callable_abc): pass"),
        (head, "print(Callable_abc)", "print(Callable_abc)"),
    ] {
        check(&format!("{head}{line}"), Places::Names, expected);
    }
    for other in ["Callable_abc = 1", "pkg.Callable_abc = 1", "from other import *"] {
        let bound = format!("{head}{other}\ndef call(f: Callable_abc): pass");
        check(&bound, Places::Names, "def call(f: Callable_abc): pass");
    }
}

#[test]
fn what_is_given_something_else_by_the_object_of_its_module_is_no_alias() {
    let head = "import sys\nutil = sys.modules.get(__name__)\nKind_util = Kind\n";
    for (stored, expected) in [
        ("x = 1", "x = util.Kind"),
        ("util.Kind_util = Other", "x = util.Kind_util"),
        ("def f():\n    del util.Kind_util", "x = util.Kind_util"),
        ("for util.Kind_util in y: pass", "x = util.Kind_util"),
        ("other = util\nother.Kind_util = Other", "x = util.Kind_util"),
        ("a.util.Kind_util = Other", "x = util.Kind_util"),
    ] {
        let text = format!("{head}{stored}\nx = util.Kind_util");
        check(&text, Places::NamesAndImports, expected);
    }
    check(&format!("{head}util.Kind_util = 1"), Places::NamesAndImports, "util.Kind_util = 1");
}

#[test]
fn a_module_that_the_original_imports_has_the_last_part_of_its_name() {
    let codebase = Codebase::of_texts([("a.py", "import xml.etree.ElementTree as ElementTree")]);
    for (import, expected) in [
        ("import xml.etree.ElementTree as ElementTree_a", "f(ElementTree)"),
        ("import other.ElementTree as ElementTree_a", "f(ElementTree_a)"),
        ("import xml.etree.ElementTree as Other_a", "f(ElementTree_a)"),
    ] {
        let plain = without_renamed(&format!("{import}\nf(ElementTree_a)"), &codebase);
        assert_eq!(plain.lines().last(), Some(expected), "{import}");
    }
}

#[test]
fn what_is_no_name_of_a_value_stays() {
    check("compare = repr\nb = field(compare=False)", Places::Names, "b = field(compare=False)");
    check("__class__ = part\n(a.\n__class__) = b", Places::Names, "__class__) = b");
    check("a = f\nx.a.b", Places::Names, "x.a.b");
}

#[test]
fn what_a_scope_has_of_its_own_is_not_what_an_alias_stands_for() {
    for (line, expected) in [
        ("def g(f): return a == f", "def g(f): return a == f"),
        ("def g(f=a): return f", "def g(f=f): return f"),
        ("def g(): f = 1; return a", "def g(): f = 1; return a"),
        ("def g(): from m import f; return a", "def g(): from m import f; return a"),
        ("def g(): return lambda f: a", "def g(): return lambda f: a"),
        ("def g(): return (lambda f=a: f), a", "def g(): return (lambda f=f: f), f"),
        ("x = [a for f in a]", "x = [a for f in f]"),
        ("x = {a: b for b in c for f in a}", "x = {a: b for b in c for f in a}"),
        ("class C: f = a", "class C: f = f"),
    ] {
        check(&format!("a = f\n{line}"), Places::Names, expected);
    }
}

#[test]
fn what_is_given_something_else_is_no_alias() {
    for other in [
        "def a(): pass",
        "class a: pass",
        "import a",
        "from m import b as a",
        "a = g",
        "(a, b) = (g, 1)",
        "for a in g: pass",
        "with g as a: pass",
        "(a := g)",
        "def f():\n    global a\n    a = g",
        "try: pass\nexcept E as a: pass",
        "from . import b as a",
        "from m import *",
        "a += g",
        "del a",
        "def f(a): pass",
        "match g:\n    case a: pass",
        "[a for a in g]",
    ] {
        check(&format!("a = f\n{other}\nx = [a]"), Places::Names, "x = [a]");
    }
    check("[a] = f\nx = [a]", Places::Names, "x = [a]");
    check("Warning = f\nx = [Warning]", Places::Names, "x = [Warning]");
}
