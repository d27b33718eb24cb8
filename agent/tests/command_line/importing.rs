//! Counts the runs until a gist is right whose modules are imported by computed names.

use super::*;

/// Four modules, a table of their names, and a test of the code that iterates over them; the row
/// adds that code.
const PARTS: &str = "\
#- pkg/__init__.py
#- pkg/base.py
def base(name):
    return name
def unused():
    pass
#- pkg/parts/__init__.py
NAMES = ['one', 'two', 'three', 'four']
def __getattr__(name):
    if name not in NAMES:
        raise AttributeError(name)
    return __import__('pkg.parts.' + name, fromlist=['value'])
#- pkg/parts/one.py
from pkg.base import base
def value():
    return base('one')
#- pkg/parts/two.py
from pkg.base import base
def value():
    return base('two')
#- pkg/parts/three.py
from pkg.base import base
def value():
    return base('three')
#- pkg/parts/four.py
from pkg.base import base
def value():
    return base('four')
#- pkg/plugins/__init__.py
#- pkg/plugins/one.py
from pkg.load import SEEN
SEEN.append('one')
#- pkg/plugins/two.py
from pkg.load import SEEN
SEEN.append('two')
";

const TEST: &str = "
#- tests/test_load.py
from pkg import load
def test_values():
    assert load.values()
";

/// Writes the gist of a test that calls the `values` of `pkg/load.py`; `executes` is how often it ran, `objects` how
/// many modules it has.
#[track_caller]
fn check(load: &str, (executes, objects): (u64, usize)) {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("parts", &format!("{PARTS}#- pkg/load.py\n{}{TEST}", load.trim_start()));
    let args = ["run", "parts", "--python", &python, "--", "pytest", "tests/test_load.py"];
    let ran = user.gistify(&args);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let trajectory = read(&user.record().join("trajectory.jsonl"));
    let end: serde_json::Value =
        serde_json::from_str(trajectory.lines().last().expect("an end")).unwrap();
    assert_eq!(end["calls"]["execute"], executes, "{trajectory}");
    let gist = read_gist(&user.here().join("concise.py"));
    assert_eq!(gist.matches("types.ModuleType(").count(), objects, "{gist}");
}

#[test]
fn modules_that_a_function_imports_by_computed_names_cost_no_run() {
    // The second run is that of the gist without what the first did not execute.
    check(
        "
import importlib
from pkg.parts import NAMES
def load(name):
    return importlib.import_module('.parts.' + name, 'pkg')
def values():
    return [load(name).value() for name in NAMES]
",
        (2, 4),
    );
    // A table tells of those that were there before.
    check(
        "
import importlib, pkg.parts.two
TABLE = ['pkg.parts.one', 'pkg.parts.two', 'pkg.parts.three']
def values():
    return [importlib.import_module(name).value() for name in TABLE]
",
        (2, 3),
    );
    // What they are imported for is that they run.
    check(
        "
SEEN = []
def values():
    for name in ['one', 'two']:
        __import__('pkg.plugins.' + name)
    return SEEN == ['one', 'two']
",
        (2, 2),
    );
}

#[test]
fn modules_that_were_there_before_cost_one_run_and_so_do_their_packages() {
    check(
        "
import importlib
from pkg.parts import NAMES
import pkg.parts.two, pkg.parts.four
def values():
    return [importlib.import_module(f'pkg.parts.{name}').value() for name in NAMES]
",
        (3, 4),
    );
    check(
        "
from pkg.parts import NAMES
def load(name):
    top = __import__('pkg.parts.' + name)
    return getattr(top.parts, name)
def values():
    return [load(name).value() for name in NAMES]
",
        (3, 6),
    );
}

#[test]
fn modules_that_a_package_loads_when_it_is_asked_for_them_need_no_objects() {
    check(
        "
from pkg import parts
def values():
    return [parts.one.value(), parts.two.value(), parts.three.value(), parts.four.value()]
",
        (2, 0),
    );
}
