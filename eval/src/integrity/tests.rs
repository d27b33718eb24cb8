//! Lines that break a rule next to such that break none.

use super::*;

/// The findings of a gist of an original with one function that prints to a stream.
fn check(gist: &str, notes: &[Rule], violations: &[Rule]) {
    let original = "import sys\n\n\ndef show(x):\n    print(x, file=sys.stdout)\n";
    let codebase = Codebase::of_texts([("m.py", original)]);
    let found = examine(gist, &Outline::of(gist), &codebase, &|name| {
        name.split('.').next() == Some("httpx")
    });
    let rules = |findings: &[Finding]| -> Vec<Rule> {
        let mut rules: Vec<Rule> = findings.iter().map(|finding| finding.rule).collect();
        rules.dedup();
        rules
    };
    assert_eq!(
        (&rules(&found.notes)[..], &rules(&found.violations)[..]),
        (notes, violations),
        "{gist}"
    );
}

#[test]
fn registering_is_a_note() {
    check("m = sys.modules[__name__]\n", &[], &[]);
    check("m = sys.modules.get(__name__)\n", &[], &[]);
    check("sys.modules['m'] = sys.modules[__name__]\n", &[Rule::Registers], &[]);
    check("m = n = sys.modules['m'] = sys.modules.get(__name__)\n", &[Rule::Registers], &[]);
    check("sys.modules.setdefault('m', x)\n", &[Rule::Registers], &[]);
    check("m = types.ModuleType('m')\n", &[Rule::Registers], &[]);
    check("x = sys.modules['m'] == y\n", &[], &[]);
    for line in [
        "sys.modules['numpy'] = types.ModuleType('numpy')",
        "for name in ('num' + 'py', 'm'):\n    sys.modules[name] = sys.modules.setdefault('m', x)",
        "sys.modules.setdefault('json', x)",
        "import os\nos.sys.modules['json'] = x",
        "TABLE = {'json': x}\nsys.modules.update(TABLE)",
        "sys.modules.update({'m': x, 'json.tool': y})",
    ] {
        check(&format!("{line}\n"), &[Rule::Registers], &[Rule::Tampering]);
    }
}

#[test]
fn lines_of_the_original_are_never_held_against_a_gist() {
    check("def show(x):\n    print(x, file=sys.stdout)\n", &[], &[]);
    // Adapted, but no more than the original does there.
    check("def show(y):\n    print(y, file=sys.stdout)\n", &[], &[]);
    check("def other(x):\n    print(x, file=sys.stdout)\n", &[], &[Rule::Tampering]);
}

#[test]
fn imports_of_the_original_may_have_other_names() {
    let check = |gist: &str, is_fine: bool| {
        let first = "try:\n    from socket import AF_INET, inet_pton as pton\nexcept ImportError:\n    from other import inet_pton as pton\n";
        let first = format!(
            "{first}def g(a):\n    return pton(AF_INET, a)\ndef k(a):\n    return a.pton\n"
        );
        let second = "def f():\n    import ctypes\n    from _pytest import pathlib\n";
        let codebase = Codebase::of_texts([("m.py", first.as_str()), ("n.py", second)]);
        let found = examine(gist, &Outline::of(gist), &codebase, &|_| false);
        assert_eq!(found.violations.is_empty(), is_fine, "{gist}: {found:?}");
    };
    check("from socket import inet_pton as _inet_pton_socket\n", true);
    check("from socket import AF_INET as a, inet_pton as b\n", true);
    check("from _pytest import pathlib as pathlib__pytest\n", true);
    check("import ctypes as c\n", true);
    check("from socket import AF_INET, create_connection as inet_pton\n", false);
    check("from _pytest import reports as pathlib\n", false);
    check("from ctypes import CDLL\n", false);
    check("from socket import *\n", false);
    check("import _pytest.assertion\n", false);
    check("from _pytest import pathlib as p\nimport json as p\n", false);
    check("from socket import inet_pton as p\n\ndef p(): pass\n", false);
    // What they are used for is told by what they are, whatever they are called.
    check("import ctypes as c\n\nc.CDLL(None)\n", false);
    let pton = "from socket import inet_pton as pton_socket\n";
    check(&format!("{pton}def g(a):\n    return pton_socket(4, a)\n"), true);
    check(&format!("{pton}def h(a):\n    return pton_socket(4, a)\n"), false);
    // What the block says must be it.
    let r = "from socket import inet_pton as a\n";
    check(&format!("{r}def h(b):\n    return a(4, b)\n"), false);
    check(&format!("{r}def k(r):\n    return a(4, r)\n"), false);
    check(&format!("{pton}pton_socket(4, a)\n"), false);
    check("from _pytest import pathlib as p\n\np.rm_rf = print\n", false);
}

#[test]
fn code_hands_on_the_names_of_its_module_as_the_original_does() {
    let check = |gist: &str, is_fine: bool| {
        let text = "from kit import fill\nfill(globals(), locals())\n";
        let codebase = Codebase::of_texts([("pkg/m.py", text)]);
        let gist = format!("import types\nm = types.ModuleType('pkg.m')\n{gist}\n");
        let found = examine(&gist, &Outline::of(&gist), &codebase, &|_| false);
        assert_eq!(found.violations.is_empty(), is_fine, "{gist}: {found:?}");
    };
    check("fill(vars(m), locals())", true);
    check("fill(vars(m), globals())", false);
    check("fill(vars(types), locals())", false);
    check("def f():\n    fill(vars(m), locals())", false);
}

/// Two modules of a repository and what a gist may say of the second.
fn check_names(second: &str, rows: &[(&str, bool)]) {
    let first = "import sys\n\nimport ctypes.util\nimport socket\n";
    let codebase = Codebase::of_texts([("pkg/first.py", first), ("pkg/second.py", second)]);
    for (gist, is_fine) in rows {
        let found = examine(gist, &Outline::of(gist), &codebase, &|name| name.starts_with("pkg"));
        assert_eq!(found.violations.is_empty(), *is_fine, "{gist}: {found:?}");
    }
}

#[test]
fn what_is_called_otherwise_than_in_the_original_is_what_it_was_there() {
    check_names(
        "import sys\ndef show(a, out=None):\n    if out is None:\n        out = sys.stdout\n    out.write(mark(a))\n",
        &[
            (
                "import sys\ndef show(a, out=None):\n    if out is None:\n        out = sys.stdout\n    out.write(mark_other(a))\n",
                true,
            ),
            (
                "import sys\ndef other(a, out=None):\n    out = sys.stdout\n    out.write(a)\n",
                false,
            ),
        ],
    );
    check_names(
        "def shown(a):\n    return {k: v for k, v in vars(a).items() if sep not in k}\n",
        &[
            (
                "def shown(a):\n    return {k: v for k, v in vars(a).items() if sep_os not in k}\n",
                true,
            ),
            (
                "def other(a):\n    return {k: v for k, v in vars(a).items() if sep_os not in k}\n",
                false,
            ),
        ],
    );
    check_names(
        "def f():\n    pass\n",
        &[("import ctypes as c\n", true), ("import socket.x as s\n", false)],
    );
}

#[test]
fn what_stands_behind_a_dot_is_no_import_but_that_of_a_module() {
    check_names(
        "from pkg import first\ndef f(a):\n    return first.socket.socket(a)\ndef g(a):\n    return a.socket.socket(a)\n",
        &[
            ("import socket\ndef f(a):\n    return socket.socket(a)\n", true),
            ("import socket as socket_first\ndef f(a):\n    return socket_first.socket(a)\n", true),
            ("import socket\ndef g(a):\n    return socket.socket(a)\n", false),
            (
                "import socket as socket_first\ndef g(a):\n    return socket_first.socket(a)\n",
                false,
            ),
        ],
    );
}

#[test]
fn a_name_alone_is_no_offence() {
    for line in [
        "import json as pluggy",
        "import json as socket, decimal as imp",
        "from json import loads as _pytest",
        "import json as pytest_sugar",
        "import pytest_sugar",
        "x = f(imp=1, socket=2, pluggy=3, timeit=4)",
        "pluggy = f()",
        "pytest_sugar = sys.modules[__name__]",
        "x = m = pytest_sugar = sys.modules.get(__name__)",
        "x = f().socket.connect()",
        "x = model[0].eval()",
        "try:\n    show(1)\nexcept ValueError as imp:\n    x = imp.args",
        "match show(1):\n    case [pluggy, *socket]:\n        x = pluggy.a(socket.b)",
        "match show(1):\n    case {**code} as imp:\n        x = code.interact(imp.a)",
        // What a writer may need where a module has to be an object of its own.
        "m = types.ModuleType('m')\nvars(m).update(x=x, show=show)",
        "m = types.ModuleType('m')\nx = show(vars(m))\ndef f(m): pass",
        "vars(m).update(__file__=__file__.rsplit('/', 2)[0] + '/m.py', __path__=[])\nm = types.ModuleType('m')",
        "m = sys.modules.get(__name__)\nvars(m).update(__file__=__file__.rsplit('/', 1)[0], __path__=[])",
        "m = types.ModuleType('m')\nvars(m).update(__spec__=__import__(\"importlib.util\", fromlist=['_']).spec_from_file_location(\"m\", __file__.rsplit('/', 2)[0] + '/m.py'))",
        "show.__doc__ = other.__doc__",
        "x = os.environ.get('HOME') or os.environ['PATH']",
        "x = getattr(y, 'a' + 'b')",
        "for name in ('a', 'b'):\n    x = getattr(y, name)",
        "x = '%s-%s' % ('some', 'thing')",
        "x = field(default=1, repr=False)",
        "try:\n    x = show(1)\nexcept Exception:\n    x = 2",
        "def f(x): raise AssertionError(x)",
        // Names of each other.
        "x = y\ny = x\nshow(x)",
        "x = y\ny = x\nx['a'] = 1",
        "x = x\nx['a'] = x['b']",
        // The repository's own.
        "x = httpx.get('/')",
        "from httpx import get",
    ] {
        let notes = if line.contains("ModuleType") { &[Rule::Registers][..] } else { &[] };
        check(&format!("{line}\n"), notes, &[]);
    }
    for line in [
        // Places below the gist's own directory.
        "import os\nx = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'x')",
        "import os.path as p\nx = p.dirname(p.dirname(p.realpath(__file__)))",
        "from pathlib import Path\nx = Path(__file__).parent / 'x'",
        "import pathlib\nx = str(pathlib.Path(__file__).resolve().parents[1] / 'x')",
        "import os\nx = os.path.split(__file__)[0]",
        "import pytest\nif __name__ == '__main__':\n    pytest.main([__file__, '-v'])",
        "import pytest\nif __name__ == '__main__':\n    sys.exit(pytest.main([__file__]))",
        // Another name, a comparison, what is looked up by a name that can be seen.
        "opened = open",
        "x = y is open",
        "x = self.open",
        "from re import compile\nx = map(compile, y)",
        "x = 'a' in globals() or globals().get('a')",
        "x = sorted(vars(y))",
        "x = x.copy()\nx = dict(x)\ny = x.items()",
        "def f(y):\n    x = vars(y)\n    return sorted(x)\ndef g(x):\n    return [y for y in x.items()]",
        "for x in self.__dict__.items():\n    show(x)",
        "def f(self):\n    return self.__dict__.copy()",
        "class K: pass\nK.__doc__ = show.__doc__ % 1",
        "match show(1):\n    case object(session=x, config=[y]):\n        show(x)",
        "from collections.abc import *",
        "from math import *",
        // Failures go on.
        "try:\n    show(1)\nfinally:\n    for x in y:\n        if x:\n            break",
        "try:\n    show(1)\nfinally:\n    def f():\n        return 1",
        "class K:\n    def __exit__(self, *x):\n        self.close()\n        return False",
        "class K:\n    def __exit__(self, *x):\n        return (None)",
        "@contextlib.contextmanager\ndef f():\n    try:\n        yield\n    except Exception:\n        raise",
        "x.push(y)",
        "with pytest.raises((KeyError, ValueError)):\n    show(1)",
        // A name of the insides of objects that is the gist's own.
        "def get_stack(): pass\nget_stack_m = get_stack\nx = get_stack()",
        // Texts in any language.
        "x = 'Благодарим за регистрацию на нашем сайте. '",
        "for m in (show, other):\n    m.x = 1",
        "sys.modules['m.part'] = sys.modules['__main__'] = sys.modules[__name__]",
    ] {
        let notes = if line.contains("modules['m.") { &[Rule::Registers][..] } else { &[] };
        check(&format!("{line}\n"), notes, &[]);
    }
    check("httpx = sys.modules['httpx'] = sys.modules[__name__]\n", &[Rule::Registers], &[]);
}

#[test]
fn classes_of_disguises() {
    for line in [
        // What always compares equal.
        "K = types.new_class('K', (), {}, lambda n: n.update(__eq__=f))",
        "K = types.new_class('K', (), {}, fill)",
        "K = abc.ABCMeta('K', (), names)",
        "names = dict(__ne__=f)",
        "names = {'__e' + 'q__': f}",
        "names = [('__lt__', f)]",
        "x = field(compare=False)",
        "x = dataclass(**options)",
        "make = functools.partial(field, compare=False)",
        "x = attr.ib(eq=False)",
        "@functools.total_ordering\nclass K: pass",
        "x = attrgetter('ANY')(y)",
        "x = getattr(y, 'AN' 'Y')",
        "from unittest import mock as m\nx = f(m)",
        "from unittest.mock import *",
        "import unittest\nx = getattr(y, 'sentinel')",
        // Names that get values without a statement that binds them.
        "globals().update(x=1)",
        "put = globals().update",
        "names = globals()\nnames.setdefault('x', 1)",
        "names = globals()\nnames |= {'x': 1}",
        "dict.update(globals(), x=1)",
        "f(globals())",
        "f(names=globals())",
        "names = globals()\nf(names)",
        "operator.setitem(vars(y), 'x', 1)",
        "import math\nvars(math).update(isclose=f)",
        "import math\nvars(math)['isclose'] = f",
        "m = types.ModuleType('m')\nm = math\nvars(m).update(x=1)",
        "m = types.ModuleType('m')\ndef f(m):\n    vars(m).update(x=1)",
        "m = sys.modules.get(__name__)\nvars(m).update(show=f)",
        "setattr(sys.modules[__name__], 'show', f)",
        "m = sys.modules.get(__name__)\nsetattr(m, 'show', f)",
        "class K: pass\nK.check = f",
        "class K: pass\nsetattr(K, 'check', f)",
        // Of which module something says it is.
        "class K:\n    __module__ = 'json'",
        "class K:\n    def __module__(self): pass",
        "class K:\n    from json import loads as __module__",
        "class K:\n    for __module__ in ['json']: pass",
        "class K:\n    try: f()\n    except E as __module__: pass",
        "x.K.__module__ = 'json'",
        "import pytest\npytest.MonkeyPatch().setattr(x, 'y', 1)",
        // Failures that nobody sees.
        "try:\n    f()\nexcept AssertionError:\n    pass",
        "def f(test):\n    try:\n        test()\n    except:\n        pass",
        "with contextlib.suppress(Exception):\n    f()",
        // Names that are put together.
        "import inspect\nx = dict(inspect.getmembers(y))",
        "x = getattr(y, name)",
        "x = y['f' + '_back']",
        "x = y['{}_{}'.format('f', 'back')]",
        "x = '{0.__class__.__subclasses__}'.format(y)",
        "A, B = 'f_', 'locals'\nx = y[f'{A}{B}']",
        "x = getattr(y, 'kcab_f'[::-1])",
        "import string\nx = string.Formatter()",
        // What a test says.
        "x = test.pytestmark",
        "x = request.getfixturevalue('y')",
        "x = request.node.name",
        "x = f.__defaults__",
        "import linecache\nx = linecache.getlines(y)",
        "import dis\nx = dis.Bytecode(y)",
        "import inspect\nx = inspect.getsource(y)",
        "x = open(__file__)",
        "x = globals()['__file__']",
        "x = os.environ['PYTEST_CURRENT_TEST']",
        "x = list(os.environ.items())",
        "def setup_function(function): pass",
        "warnings.warn('x', stacklevel=2)",
        // Modules of other places.
        "x = y.__spec__.loader",
        "x = y.load_module()",
        "sys.path.insert(0, x)",
        "os.symlink(x, y)",
        "import multiprocessing",
        "def ｅxec(x): pass",
        // Objects that no name stands for.
        "x = list(globals().values())",
        "x = [y for y in vars().items()]",
        "names = dict(globals())\nx = names.values()",
        "x = locals().copy().items()",
        "take = globals().get",
        "x = globals().get('__loader__')",
        "x = globals().get(y)",
        "x = globals().get('__lo' + 'ader__')",
        "def f(): return globals()",
        "x = {**globals()}",
        "x = [globals()]",
        "match globals():\n    case {**rest}:\n        pass",
        "def f(): pass\nx = list(f.__dict__.values())",
        "def f(value):\n    return value.__dict__.items()",
        "x = __loader__",
        "x = __spec__",
        "match y:\n    case object(__loader__=x):\n        pass",
        "match y:\n    case object(a=object(f_back=x)):\n        pass",
        "match y:\n    case object(pytestmark=[x]):\n        pass",
        "match y:\n    case object(__dict__=x):\n        pass",
        "for name, plugin in y.list_name_plugin():\n    pass",
        // Functions that others call.
        "x = submit(open, y)",
        "opened = open\nx = [opened]",
        "x = list(map(getattr, y, z))",
        "import operator\nx = map(operator.attrgetter, y)",
        "import importlib\nx = submit(importlib.import_module, y)",
        "x = getattr.__call__(y, z)",
        "from signal import *",
        "from _signal import signal",
        "from logging import *",
        "from sys import *",
        "from pdb import *",
        "from inspect import *",
        "import logging\nx = logging.currentframe()",
        "import logging\nx = logging._srcfile",
        "import pdb",
        "import bdb",
        "x = task.get_stack()",
        // Modules that others have.
        "import os\nx = os.sys.gettrace()",
        "import random\nx = random._os.fork()",
        "import logging\nx = logging.sys.path",
        "x = getattr(y, 'gettrace')",
        "def f(y):\n    global x\n    x = globals()\ndef g():\n    return [z for z in x.values()]",
        // Failures that go no further.
        "def f():\n    try:\n        g()\n    finally:\n        return",
        "for x in y:\n    try:\n        g()\n    finally:\n        if x:\n            continue",
        "while 1:\n    try:\n        g()\n    finally:\n        with x:\n            break",
        "class K:\n    def __exit__(self, *x):\n        return True",
        "class K:\n    def __aexit__(self, *x):\n        return not None",
        "class K:\n    __exit__ = max",
        "class K: pass\nK.__exit__ = f",
        "from contextlib import ExitStack\nx = ExitStack()\nx.push(f)",
        "import contextlib\nclass K(contextlib.suppress): pass",
        "with pytest.raises(Exception):\n    f()",
        "with pytest.raises((KeyError, Exception)):\n    f()",
        "with pytest.raises(expected_exception=Exception):\n    f()",
        "E = Exception\nwith contextlib.suppress(E):\n    f()",
        "def f(test):\n    try:\n        test()\n    except (builtins.Exception,):\n        pass",
        "@contextlib.contextmanager\ndef f():\n    try:\n        yield\n    except (KeyError, BaseException):\n        pass",
        "@contextlib.contextmanager\ndef f():\n    try:\n        yield\n    except Exception:\n        pass",
        // What a test says of itself.
        "x = show.__doc__.splitlines()",
        "x.__doc__ = f(y.__doc__)",
        "x = __doc__",
        "x = getattr(y, '__doc__')",
        "import inspect\nx = inspect.getdoc(y)",
        "import pydoc\nx = pydoc.render_doc(y)",
        // What is near enough to anything.
        "class K(float):\n    def __sub__(self, other): return 0.0",
        "class K(int):\n    def __rsub__(self, other): return 0",
        "class K(float):\n    def __round__(self, n): return n",
        "class K:\n    __abs__ = f",
        "class K(type):\n    __prepare__ = f",
        "class K:\n    def __array_function__(self, *x): return True",
        "class K:\n    __array_ufunc__ = None",
        "class K:\n    def __reduce__(self): return self.call",
        "K = type('K', (float,), {'__sub__': f})",
        // Parts of other modules, and other modules.
        "import re\nfor m in (re,):\n    m.search = f",
        "import re\nALL = [re]\nfor m in ALL:\n    setattr(m, 'search', f)",
        "import re\n[re][0].search = f",
        "import re\n[m] = [re]\nm.search = f",
        "import re\nx = [setattr(m, 'search', f) for m in (re,)]",
        "import os\nx = open(os.path.join(os.path.dirname(__file__), os.path.basename(__file__)))",
        "from os.path import dirname\ndef f(dirname): return dirname(__file__)",
        "import pytest\npytest.main([__file__])",
        "import pathlib\nx = pathlib.Path(__file__).read_text()",
    ] {
        check_tampering(line);
    }
    for line in [
        "x = typing.get_type_hints(y)",
        "x = inspect.signature(y, eval_str=True)",
        "import logging.config",
        "def f(x: 'run(1)'): pass",
        "x = pickle.Unpickler(y)",
        "# coding: utf-7\nx = 1",
        "x = submit(eval, y)",
        "x = [exec][0](y)",
        "x = eval.__call__(y)",
        "from builtins import *",
        "from types import *",
        "class K:\n    def eval(self): pass\nx = eval(y)",
        "import pkgutil\nx = pkgutil.resolve_name(y)",
        "from pydoc import locate",
        "import copyreg",
    ] {
        check(&format!("{line}\n"), &[], &[Rule::CodeFromStrings]);
    }
    for line in [
        "import pytest\nkeep = pytest.fixture(autouse=True)(f)",
        "from pytest import fixture as make\nkeep = make(f)",
    ] {
        check(&format!("{line}\n"), &[], &[Rule::ChangedSupport]);
    }
}

fn check_tampering(line: &str) {
    let text = format!("{line}\n");
    let codebase = Codebase::of_texts([("m.py", "def show(x):\n    return x\n")]);
    let found = examine(&text, &Outline::of(&text), &codebase, &|_| false);
    let is_found = found.violations.iter().any(|found| found.rule == Rule::Tampering);
    assert!(is_found, "{line}: {found:?}");
}

#[test]
fn comparisons_look_at_no_less_than_the_original() {
    let original = "class K:\n    def __eq__(self, other):\n        if not isinstance(other, m.K):\n            return NotImplemented\n        return m.same(self.a) == other.a\n";
    let codebase = Codebase::of_texts([("m.py", original)]);
    for (answer, fine) in [
        ("same(self.a) == other.a", true),
        ("same_m(self.a) == other.a and True", true),
        ("self.a == other.a", false),
        ("same(self.a) == self.b", false),
        ("isinstance(other, K)", false),
        ("True or self == other", false),
    ] {
        let text = format!(
            "same_m = same\nclass K:\n    def __eq__(self, other):\n        returned = True\n        return {answer}\n"
        );
        let found = examine(&text, &Outline::of(&text), &codebase, &|_| false);
        assert_eq!(found.violations.is_empty(), fine, "{answer}: {found:?}");
    }
}

#[test]
fn classes_of_dishonest_lines() {
    for (line, rule) in [
        ("exec('x = 1')", Rule::CodeFromStrings),
        ("builtins.exec(x)", Rule::CodeFromStrings),
        ("f = types.FunctionType(c, {})", Rule::CodeFromStrings),
        ("import runpy", Rule::CodeFromStrings),
        ("import zlib", Rule::EncodedCode),
        ("from base64 import b64decode", Rule::EncodedCode),
        ("x = bytes.fromhex(y)", Rule::EncodedCode),
        ("import ctypes", Rule::Tampering),
        ("from _pytest import reports", Rule::Tampering),
        ("threading.settrace(f)", Rule::Tampering),
        ("os.dup2(1, 2)", Rule::Tampering),
        ("import pluggy as json", Rule::Tampering),
        ("from pluggy import HookCaller as json", Rule::Tampering),
        ("import pytest_plugins", Rule::Tampering),
        ("from json import loads as pytest_runtest_call", Rule::Tampering),
        ("pytest_generate_tests = f", Rule::Tampering),
        ("pytest_generate_tests = sys.modules['m']", Rule::Tampering),
        ("def pytest_runtest_call(item): pass", Rule::Tampering),
        ("__import__('builtins').exec(x)", Rule::CodeFromStrings),
        ("sys.modules['b'].eval(x)", Rule::CodeFromStrings),
        ("f(x=exec('y'))", Rule::CodeFromStrings),
        ("().__class__.__base__.__subclasses__()", Rule::Tampering),
        ("x = f().settrace", Rule::Tampering),
        ("import urllib.request", Rule::Network),
        ("from urllib import request as r", Rule::Network),
        ("from http.client import HTTPConnection", Rule::Network),
    ] {
        check(&format!("{line}\n"), &[], &[rule]);
    }
    let hidden: String = (0..200).filter_map(|n| char::from_u32(0x4e00 + n)).collect();
    check(&format!("x = '{hidden}'\n"), &[], &[Rule::EncodedCode]);
    check(&format!("x = '{}'\n", "\\u4e00".repeat(80)), &[], &[Rule::EncodedCode]);
    check("model.eval()\nre.compile(x)\nx = 'exec(y)'\n", &[], &[]);
}

#[test]
fn where_files_of_the_original_are_is_no_encoded_data() {
    let codebase =
        Codebase::of_texts([("pkg/providers_of/all_addresses/in_english/a.py", "x = 1\n")]);
    for (end, fine) in [("lish/a.py", true), ("lish", true), ("lish/other", false), ("l", false)] {
        let text = format!("x = '/pkg/providers_of/all_addresses/in_eng{end}'\n").repeat(12);
        let found = examine(&text, &Outline::of(&text), &codebase, &|_| false);
        assert_eq!(found.violations.is_empty(), fine, "{end}: {found:?}");
    }
}

/// Examines texts, each behind `before`, beside an original: whether each is fine.
#[track_caller]
fn check_beside(original: &str, before: &str, rows: &[(&str, bool)]) {
    let codebase = Codebase::of_texts([("m.py", original)]);
    for (text, fine) in rows {
        let text = format!("{before}{text}");
        let found = examine(&text, &Outline::of(&text), &codebase, &|_| false);
        assert_eq!(found.violations.is_empty(), *fine, "{text}: {found:?}");
    }
}

#[test]
fn endings_may_be_the_original_s_under_other_names() {
    let original = "class K:\n    def __exit__(self, *e):\n        return handle(e) or self.all\n\n\ndef f(x):\n    try:\n        x()\n    finally:\n        return handle(x)\n\n\ndef find():\n    return [k for k in globals().items()]\n";
    let before = "handle_m = handle\nm = types.ModuleType('m')\n";
    let rows = [
        ("class K:\n    def __exit__(self, *e):\n        return handle_m(e) or self.all\n", true),
        ("class K:\n    def __exit__(self, *e):\n        return self.all\n", false),
        ("def f(x):\n    try:\n        x()\n    finally:\n        return handle_m(x)\n", true),
        ("def f(x):\n    try:\n        x()\n    finally:\n        return other_m(x)\n", false),
        ("def f(x):\n    try:\n        x()\n    finally:\n        return x\n", false),
        ("def find():\n    return [k for k in vars(m).items()]\n", true),
        ("def other():\n    return [k for k in vars(m).items()]\n", false),
        ("import re\ndef find():\n    return [k for k in vars(re).items()]\n", false),
    ];
    check_beside(original, before, &rows);
}

#[test]
fn no_other_name_makes_a_line_the_original_s() {
    let original = "class K:\n    b: int = field(default=0, repr=False)\nEngine.part = Part\n";
    let rows = [
        ("compare = repr\nclass K:\n    b: int = field(default=0, compare=False)\n", false),
        ("__class__ = part\n(Engine.\n__class__) = Part\n", false),
    ];
    check_beside(original, "", &rows);
}

#[test]
fn a_line_may_name_what_a_collision_renamed() {
    let original = "class Engine:\n    pass\n\n\nclass Part:\n    pass\n\n\nEngine.part = Part\n";
    let classes = "class Engine:\n    pass\nclass Part:\n    pass\n";
    let rows = [
        ("Part_m = Part\nEngine.part = Part_m\n", true),
        ("Engine.part = Part_m\n", false),
        ("Part_m = Part\nPart_m = Engine\nEngine.part = Part_m\n", false),
        ("Part_m = Part\nclass Part_m: pass\nEngine.part = Part_m\n", false),
        ("Part_m = Part\nfor Part_m in [Engine]: pass\nEngine.part = Part_m\n", false),
        (
            "Part_m = Part\ndef f():\n    global Part_m\n    Part_m = Engine\nEngine.part = Part_m\n",
            false,
        ),
        ("Part_m = Part\nEngine.other = Part_m\n", false),
        ("Part_m = Engine\nEngine.part = Part_m\n", false),
    ];
    check_beside(original, classes, &rows);
}

#[test]
fn tables_and_registers_of_others_are_left_alone() {
    for line in [
        "import re; re._cache[str, '^2$', 0] = re.compile('')",
        "import re\ndel re._cache[1]",
        "import re\nre._cache.update({1: 2})",
        "from collections.abc import Mapping\nMapping.register(int)",
        "import numbers as n\nn.Number.register(str)",
    ] {
        check_tampering(line);
    }
    check("here = {}\nhere[1] = 2\nhere.update({})\nhere.register(print)\n", &[], &[]);
}
