//! Names that reach their things through modules, stars, cycles and `__all__`.

use super::check;

#[test]
fn a_module_used_for_its_attributes_is_the_gist() {
    check(
        "
--- pkg/__init__.py
+from . import mod
--- pkg/mod.py
+def work():
*    return 1
+def other():
-    return 2
--- test_a.py
+import pkg
+import pkg.mod
+def test_f():
*    assert pkg.mod.work() == 1
",
        "test_a.py::test_f",
        "
+import sys
+mod = pkg = sys.modules.get(__name__)
 def work():
     return 1
 def test_f():
     assert pkg.mod.work() == 1
",
    );
}

#[test]
fn a_submodule_imported_from_its_package_is_the_gist() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+def work():
*    return 1
--- pkg/user.py
+from . import mod
+from . import mod as renamed
+import pkg.mod as third
+def user():
*    return mod.work() + renamed.work() + third.work()
--- test_a.py
+from pkg.user import user
+def test_f():
*    assert user() == 3
",
        "test_a.py::test_f",
        "
+import sys
+mod = renamed = third = sys.modules.get(__name__)
 def work():
     return 1
 def user():
     return mod.work() + renamed.work() + third.work()
 def test_f():
     assert user() == 3
",
    );
}

#[test]
fn an_import_under_another_name_is_one_alias() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+def work():
*    return 1
--- pkg/user.py
+from .mod import work as do_work
+from os import path as p
+def user():
*    return do_work(), p.sep
--- test_a.py
+from pkg.user import user
+def test_f():
*    assert user()[0] == 1
",
        "test_a.py::test_f",
        "
 def work():
     return 1
+do_work = work
 from os import path as p
 def user():
     return do_work(), p.sep
 def test_f():
     assert user()[0] == 1
",
    );
}

#[test]
fn chains_of_imports_lead_to_one_definition() {
    check(
        "
--- pkg/__init__.py
+from .api import work
--- pkg/api.py
+from .core import work
--- pkg/core.py
+def work():
*    return 1
--- test_a.py
+from pkg import work
+def test_f():
*    assert work() == 1
",
        "test_a.py::test_f",
        "
 def work():
     return 1
 def test_f():
     assert work() == 1
",
    );
}

#[test]
fn stars_bring_what_they_export() {
    check(
        "
--- pkg/__init__.py
+from .one import *
+from .two import *
--- pkg/one.py
+__all__ = ['work', 'LIMIT']
+LIMIT = 1
+def work():
*    return helper() + LIMIT
+def helper():
*    return 1
--- pkg/two.py
+_hidden = 3
+def helper():
*    return _hidden
--- test_a.py
+from pkg import work, helper
+def test_f():
*    assert work() + helper() == 5
",
        "test_a.py::test_f",
        "
 LIMIT = 1
 def work():
~    return helper_one() + LIMIT
 def helper():
     return 1
+helper_one = helper
 _hidden = 3
 def helper():
     return _hidden
 def test_f():
     assert work() + helper() == 5
",
    );
}

#[test]
fn a_star_from_outside_stays_when_a_name_needs_it() {
    check(
        "
--- trace
holds pkg.mod join function posixpath:join
external os.path
--- pkg/__init__.py
--- pkg/mod.py
+from os.path import *
+def work():
*    return join('a', 'b')
--- test_a.py
+from pkg.mod import work
+def test_f():
*    assert work() == 'a/b'
",
        "test_a.py::test_f",
        "
 from os.path import *
 def work():
     return join('a', 'b')
 def test_f():
     assert work() == 'a/b'
",
    );
}

#[test]
fn circular_imports_end_in_one_namespace() {
    check(
        "
--- pkg/__init__.py
--- pkg/a.py
+from . import b
+def first():
*    return b.second()
+def third():
*    return 3
--- pkg/b.py
+from . import a
+def second():
*    return a.third()
--- test_a.py
+from pkg.a import first
+def test_f():
*    assert first() == 3
",
        "test_a.py::test_f",
        "
+import sys
+a = b = sys.modules.get(__name__)
 def second():
     return a.third()
 def first():
     return b.second()
 def third():
     return 3
 def test_f():
     assert first() == 3
",
    );
}

#[test]
fn exports_are_no_references() {
    check(
        "
--- pkg/__init__.py
+from .mod import work, unused
+__all__ = ['work', 'unused']
+__version__ = '1'
--- pkg/mod.py
+__all__ = ('work', 'unused')
+def work():
*    return 1
+def unused():
-    return 2
--- test_a.py
+from pkg import work
+def test_f():
*    assert work() == 1
",
        "test_a.py::test_f",
        "
 def work():
     return 1
 def test_f():
     assert work() == 1
",
    );
}

#[test]
fn a_name_that_is_deleted_stays_deleted() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+items = []
+for i in (1, 2):
+    items.append(i)
+del i
+def work():
*    return items
--- test_a.py
+from pkg.mod import work
+def test_f():
*    assert work() == [1, 2]
",
        "test_a.py::test_f",
        "
 items = []
 for i in (1, 2):
     items.append(i)
 def work():
     return items
 def test_f():
     assert work() == [1, 2]
",
    );
}

#[test]
fn names_that_only_a_global_statement_binds_are_kept_working() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+def start():
-    global running
*    running = True
+def is_running():
*    return running
--- test_a.py
+from pkg.mod import start, is_running
+def test_f():
*    start()
*    assert is_running()
",
        "test_a.py::test_f",
        "
 def start():
     global running
     running = True
 def is_running():
     return running
 def test_f():
     start()
     assert is_running()
",
    );
}

#[test]
fn every_statement_that_binds_a_needed_name_is_kept() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+LIMIT = 1
+LIMIT += 2
+FIRST, SECOND = 1, 2
+UNUSED = 4
+@property
+def decorated(self):
-    return 5
+def work():
*    return LIMIT + SECOND
--- test_a.py
+from pkg.mod import work
+def test_f():
*    assert work() == 5
",
        "test_a.py::test_f",
        "
 LIMIT = 1
 LIMIT += 2
 FIRST, SECOND = 1, 2
 def work():
     return LIMIT + SECOND
 def test_f():
     assert work() == 5
",
    );
}

#[test]
fn what_is_added_to_was_there_before() {
    check(
        "
--- pkg/__init__.py
+from .core import _items as items
+from .more import _items as more
+items += more
--- pkg/core.py
+_items = [1]
--- pkg/more.py
+_items = [2]
--- test_it.py
+from pkg import items
+def test_f():
*    assert items == [1, 2]
",
        "test_it.py::test_f",
        "
 _items = [1]
+_items_core = _items
 _items = [2]
+more = _items
+items = _items_core
 items += more
 def test_f():
     assert items == [1, 2]
",
    );
}

#[test]
fn a_logger_has_the_name_by_which_tests_call_it() {
    let of = |asked: &str, head: &str, made: &str| {
        check(
            &format!(
                "
--- pkg/__init__.py
--- pkg/mod.py
+import logging
+log = logging.getLogger(__name__)
+KEY = str(__name__)
+def f():
*    log.info(KEY)
--- test_a.py
+import logging
+from pkg.mod import f
+def test_f():
*    logging.getLogger('{asked}').disabled = True
*    f()
"
            ),
            "test_a.py::test_f",
            &format!(
                "
{head} import logging
{made}
 KEY = str(__name__)
 def f():
     log.info(KEY)
 def test_f():
     logging.getLogger('{asked}').disabled = True
     f()
"
            ),
        );
    };
    let registered = "+import sys\n+sys.modules[\"pkg\"] = sys.modules.get(__name__)\n";
    of("pkg.mod", registered, "~log = logging.getLogger(\"pkg.mod\")");
    of("pkg", "", "~log = logging.getLogger(\"pkg.mod\")");
    of("pk", "", " log = logging.getLogger(__name__)");
    let registered = registered
        .replace("+sys", "+mod = sys")
        .replace(" = sys.modules.get", " = sys.modules[\"pkg.mod\"] = sys.modules.get");
    of("pkg.mod.f", &registered, " log = logging.getLogger(__name__)");
}

#[test]
fn what_a_star_brings_gives_way_to_what_has_its_name() {
    let files = |other: &str| {
        format!(
            r#"
--- pkg/__init__.py
--- pkg/kinds.py
+from ast import *
+def kinds(text):
*    return walk(parse(text))
--- pkg/add.py
+def {other}(x):
*    return x + 1
--- test_a.py
+from pkg.add import {other}
+from pkg.kinds import kinds
+def test_f():
*    assert kinds('') and {other}(1) == 2
--- trace
external ast
holds pkg.kinds walk function ast:walk
holds pkg.kinds parse function ast:parse
holds pkg.kinds arg class ast:arg
"#
        )
    };
    check(
        &files("parse"),
        "test_a.py::test_f",
        r#"
 def parse(x):
     return x + 1
~from ast import parse as parse_ast, walk
 def kinds(text):
~    return walk(parse_ast(text))
 def test_f():
     assert kinds('') and parse(1) == 2
"#,
    );
    // What is not needed of it takes no name from anything.
    check(
        &files("arg"),
        "test_a.py::test_f",
        r#"
 def arg(x):
     return x + 1
~from ast import parse, walk
 def kinds(text):
     return walk(parse(text))
 def test_f():
     assert kinds('') and arg(1) == 2
"#,
    );
    check(
        &files("other"),
        "test_a.py::test_f",
        r#"
 def other(x):
     return x + 1
 from ast import *
 def kinds(text):
     return walk(parse(text))
 def test_f():
     assert kinds('') and other(1) == 2
"#,
    );
}

#[test]
fn a_star_that_brings_a_name_of_a_builtin_is_imported_name_by_name() {
    check(
        "
--- pkg/__init__.py
--- pkg/geo.py
+from math import *
+def norm(x):
*    return sqrt(x)
--- pkg/bits.py
+def bits(x):
*    return pow(2, x, 1000)
--- test_a.py
+from pkg.geo import norm
+from pkg.bits import bits
+def test_f():
*    assert norm(4) == 2 and bits(10) == 24
--- trace
external math
holds pkg.geo sqrt other builtin_function_or_method
holds pkg.geo pow other builtin_function_or_method
",
        "test_a.py::test_f",
        "
~from math import sqrt
 def norm(x):
     return sqrt(x)
 def bits(x):
     return pow(2, x, 1000)
 def test_f():
     assert norm(4) == 2 and bits(10) == 24
",
    );
}

#[test]
fn a_star_takes_no_name_from_another_import() {
    check(
        "
--- pkg/__init__.py
--- pkg/url.py
+from urllib import parse
+def url(x):
*    return parse.quote(x)
--- pkg/kinds.py
+from ast import *
+def nodes(tree):
*    return walk(tree)
--- test_a.py
+from pkg.url import url
+from pkg.kinds import nodes
+def test_f():
*    assert url('a') and nodes
--- trace
external urllib.parse
external ast
holds pkg.url parse module urllib.parse
holds pkg.kinds walk function ast:walk
holds pkg.kinds parse function ast:parse
",
        "test_a.py::test_f",
        "
 from urllib import parse
 def url(x):
     return parse.quote(x)
~from ast import walk
 def nodes(tree):
     return walk(tree)
 def test_f():
     assert url('a') and nodes
",
    );
}

#[test]
fn the_one_star_brings_what_its_module_has_from_others() {
    check(
        "
--- pkg/__init__.py
--- pkg/paths.py
+from os.path import *
+def parts(x):
*    return basename(x), split(x)
--- pkg/num.py
+def split(x):
*    return x // 2
--- test_a.py
+from pkg.paths import parts
+from pkg.num import split
+def test_f():
*    assert parts('a/b') and split(4) == 2
--- trace
external os.path
holds pkg.paths basename function posixpath:basename
holds pkg.paths split function posixpath:split
",
        "test_a.py::test_f",
        "
~from os.path import basename, split as split_path
 def parts(x):
~    return basename(x), split_path(x)
 def split(x):
     return x // 2
 def test_f():
     assert parts('a/b') and split(4) == 2
",
    );
}
