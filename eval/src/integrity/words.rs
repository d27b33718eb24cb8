//! Which rule a name breaks in a line that the original does not have.

use super::Rule;

const DECODERS: &[&str] =
    &["base64", "binascii", "zlib", "gzip", "bz2", "lzma", "zipimport", "zipfile", "tarfile"];
const DECODING: &[&str] = &[
    "b64decode",
    "a85decode",
    "b85decode",
    "b32decode",
    "b16decode",
    "unhexlify",
    "fromhex",
    "decompress",
];
const TAMPERS: &[&str] = &[
    "sys.settrace",
    "sys.setprofile",
    "sys.gettrace",
    "sys.getprofile",
    "sys.monitoring",
    "sys.addaudithook",
    "sys.stdout",
    "sys.stderr",
    "sys.__stdout__",
    "sys.__stderr__",
    "threading.settrace",
    "threading.setprofile",
    "os._exit",
    "os.dup2",
    "os.kill",
    "os.abort",
    "gc.get_objects",
    "gc.get_referrers",
    "gc.get_referents",
    "ctypes",
    "_ctypes",
    "_pytest",
    "pluggy",
    "sys._getframe",
    "sys._current_frames",
    "sys.excepthook",
    "inspect.currentframe",
    "inspect.stack",
    "inspect.trace",
    "inspect.getouterframes",
    "inspect.getinnerframes",
    "traceback.walk_stack",
    "traceback.extract_stack",
    "traceback.format_stack",
    "traceback.StackSummary",
    // They agree with whatever is near enough, or replace what others rely on.
    "pytest.approx",
    "pytest.MonkeyPatch",
    "functools.total_ordering",
    "functools.cmp_to_key",
    "type.__setattr__",
    // Any part of anything by its name.
    "inspect.getmembers",
    "inspect.getmembers_static",
    "inspect.getattr_static",
    "string.Formatter",
    "operator.setitem",
    "operator.delitem",
    "operator.ior",
    // Code from other places, and runs that nobody sees.
    "sys.path",
    "os.environb",
    "posix",
    "sys.meta_path",
    "sys.path_hooks",
    "sys.path_importer_cache",
    "site.addsitedir",
    "os.fork",
    "os.forkpty",
    "os.symlink",
    "os.link",
    "os.popen",
    "os.posix_spawn",
    "multiprocessing",
    "concurrent.futures.ProcessPoolExecutor",
    "signal.signal",
    // Frames by other names.
    "logging.currentframe",
    "logging._srcfile",
    "pdb",
    "bdb",
];
/// Modules that tell what a test says; to import one is not yet to use it.
const READERS: &[&str] = &[
    "dis",
    "symtable",
    "linecache",
    "tokenize",
    "opcode",
    "inspect.getmodule",
    "inspect.getfile",
    "inspect.getabsfile",
    "inspect.getdoc",
    "inspect.getcomments",
    "pydoc",
];
/// Those whose mere import has one purpose.
const NEVER: &[&str] = &["ctypes", "_ctypes", "_pytest", "pluggy", "faulthandler", "atexit"];
const MAKERS: &[&str] = &[
    "types.FunctionType",
    "types.CodeType",
    "runpy",
    "importlib.util.spec_from_loader",
    "importlib.util.spec_from_file_location",
    "importlib.machinery",
    "code.interact",
    "code.InteractiveInterpreter",
    "code.InteractiveConsole",
    "codeop",
    "imp",
    "marshal",
    "timeit",
    "pickle.loads",
    "pickle.load",
    "pickle.Unpickler",
    "importlib.reload",
    "_pickle",
    "shelve",
    "inspect.get_annotations",
    "annotationlib",
    "typing.get_type_hints",
    "typing.ForwardRef",
    "typing._eval_type",
    "logging.config",
    "importlib.abc",
    "importlib.util.module_from_spec",
    "importlib._bootstrap",
    "importlib._bootstrap_external",
    "_frozen_importlib",
    "_frozen_importlib_external",
    "pkgutil.get_loader",
    "pkgutil.get_importer",
    "cProfile.run",
    "profile.run",
    "pdb.runeval",
    "doctest.DocTestRunner",
    "doctest.run_docstring_examples",
    // Anything by its name, and calls that copies and pickles make.
    "pkgutil.resolve_name",
    "pydoc.locate",
    "pydoc.safeimport",
    "pydoc.importfile",
    "copyreg",
];
const NETWORK: &[&str] = &[
    "socket",
    "urllib.request",
    "http.client",
    "httpx",
    "aiohttp",
    "ftplib",
    "smtplib",
    "asyncio.open_connection",
    "xmlrpc",
];
/// Attributes that lead from an object to the machinery around it, whatever the object is.
const INSIDES: &[&str] = &[
    "__globals__",
    "__builtins__",
    "__code__",
    "__closure__",
    "cell_contents",
    "__subclasses__",
    "__getattribute__",
    "__loader__",
    "f_back",
    "f_globals",
    "f_locals",
    "f_code",
    "f_builtins",
    "f_trace",
    "tb_frame",
    "gi_frame",
    "gi_code",
    "cr_frame",
    "cr_code",
    "ag_frame",
    "get_stack",
    "curframe",
    "curframe_locals",
    // What a test is given and says.
    "pytestmark",
    "own_markers",
    "getfixturevalue",
    "iter_markers",
    "iter_markers_with_node",
    "get_closest_marker",
    "callspec",
    "_pyfuncitem",
    "metafunc",
    "__defaults__",
    "__kwdefaults__",
    "__annotations__",
    "findCaller",
    "getsource",
    "getsourcelines",
    "getsourcefile",
    "findsource",
    "get_source_segment",
    // What makes modules of files and texts.
    "__spec__",
    "load_module",
    "exec_module",
    "source_to_code",
    "get_code",
    "spec_from_loader",
    "spec_from_file_location",
    "module_from_spec",
    "SourceFileLoader",
    "SourcelessFileLoader",
    "ExtensionFileLoader",
    "meta_path",
    "path_hooks",
    "path_importer_cache",
    "pluginmanager",
    "list_name_plugin",
    "get_hookcallers",
    "hookimpl",
    "hookspec",
    "_excinfo",
    "_fixtureinfo",
    "funcargs",
    "TestReport",
    "settrace",
    "setprofile",
    "gettrace",
    "getprofile",
    "get_objects",
    "get_referrers",
];
/// Methods that decide what an object equals.
pub(super) const COMPARES: &[&str] = &[
    "__eq__",
    "__ne__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__bool__",
    "__contains__",
    "__instancecheck__",
    "__subclasscheck__",
];
/// Methods that decide what other libraries make of an object, or what a class or a copy is made of.
const PROTOCOLS: &[&str] = &[
    "__prepare__",
    "__reduce__",
    "__reduce_ex__",
    "__array_function__",
    "__array_ufunc__",
    "__array_priority__",
];
/// Methods that decide how far numbers are from each other.
const NUMBERS: &str = " add sub mul truediv floordiv mod divmod pow matmul radd rsub rmul rtruediv \
    rfloordiv rmod rdivmod rpow rmatmul iadd isub imul itruediv neg pos abs round float int index complex \
    trunc floor ceil ";
/// Methods that decide whether a failure goes on.
pub(super) const EXITS: &[&str] = &["__exit__", "__aexit__"];

/// Whether a method decides what a test finds, other than by what it returns to who calls it.
pub fn answers(name: &str) -> bool {
    let inner = name.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"));
    let is_number =
        inner.is_some_and(|name| !name.contains(' ') && NUMBERS.contains(&format!(" {name} ")));
    is_number || COMPARES.contains(&name) || PROTOCOLS.contains(&name)
}

/// Whether a method has to be seen where it is defined.
pub(super) fn decides(name: &str) -> bool {
    answers(name) || EXITS.contains(&name)
}

/// What stands for any value, or agrees with it.
const LENIENT: &[&str] = &[
    "ANY",
    "approx",
    "Mock",
    "MagicMock",
    "AsyncMock",
    "NonCallableMock",
    "NonCallableMagicMock",
    "PropertyMock",
];
/// Parts of `unittest.mock` whose names many things have.
const MOCKING: &[&str] = &["sentinel", "call", "patch"];

/// How a name is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// It is imported.
    Imported,
    /// It is called.
    Called,
    /// It is mentioned.
    Mentioned,
}

/// The rule that a dotted name breaks: `full` is what it stands for, nothing for what begins with a
/// variable; `written` is the name as it stands there.
pub(super) fn judge(full: Option<&str>, written: &str, usage: Use) -> Option<Rule> {
    if usage != Use::Imported
        && (written.split('.').any(is_inside)
            || ["request.node", "request.function"].iter().any(|part| has_part(written, part)))
    {
        return Some(Rule::Tampering);
    }
    let last = written.rsplit('.').next().unwrap_or(written);
    if usage != Use::Imported && written.contains('.') && DECODING.contains(&last) {
        return Some(Rule::EncodedCode);
    }
    let name = full?;
    let last = name.rsplit('.').next().unwrap_or(name);
    let first = name.split('.').next().unwrap_or(name);
    let starts = |prefixes: &[&str]| {
        prefixes.iter().any(|prefix| {
            name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    if let Some(module) = name.strip_suffix(".*") {
        return judge_star(module).or_else(|| judge(Some(module), module, usage));
    }
    // The parts of modules that are written in C.
    if let Some(plain) = name.strip_prefix('_')
        && ["signal", "socket", "operator", "functools", "inspect", "logging"]
            .contains(&&first[1..])
        && let Some(rule) = judge(Some(plain), written, usage)
    {
        return Some(rule);
    }
    let is_builtin = name == last || first == "builtins";
    if is_builtin
        && matches!(last, "exec" | "eval" | "compile")
        && (usage == Use::Called || written != name)
    {
        return Some(Rule::CodeFromStrings);
    }
    if usage == Use::Imported && NEVER.contains(&first) {
        return Some(Rule::Tampering);
    }
    if starts(MAKERS) {
        return Some(Rule::CodeFromStrings);
    }
    if starts(TAMPERS) || NEVER.contains(&first) && name != first || is_inside(last) {
        return Some(Rule::Tampering);
    }
    if starts(READERS) && (usage != Use::Imported || name != first) {
        return Some(Rule::Tampering);
    }
    if usage != Use::Imported && starts(&["unittest.mock", "mock"]) {
        return Some(Rule::Tampering);
    }
    if starts(NETWORK) {
        return Some(Rule::Network);
    }
    if starts(DECODERS) || DECODING.contains(&last) {
        return Some(Rule::EncodedCode);
    }
    None
}

/// The rule that all names of a module break together: that of the first which breaks one.
fn judge_star(module: &str) -> Option<Rule> {
    if module == "builtins" {
        return Some(Rule::CodeFromStrings);
    }
    if ["unittest.mock", "mock"].contains(&module) {
        return Some(Rule::Tampering);
    }
    let tables = [
        (TAMPERS, Rule::Tampering),
        (MAKERS, Rule::CodeFromStrings),
        (READERS, Rule::Tampering),
        (NETWORK, Rule::Network),
    ];
    let has_one = |names: &[&str]| {
        names.iter().any(|name| {
            name.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    tables.into_iter().find(|(names, _)| has_one(names)).map(|(_, rule)| rule)
}

/// Whether a part of a dotted name leads to the machinery around an object.
pub(super) fn is_inside(part: &str) -> bool {
    const CODE: &str = " code consts names varnames filename firstlineno lines positions lnotab \
        linetable name qualname freevars cellvars flags argcount ";
    let is_of_code = |rest: &str| !rest.contains(' ') && CODE.contains(&format!(" {rest} "));
    INSIDES.contains(&part) || part.strip_prefix("co_").is_some_and(is_of_code)
}

fn has_part(written: &str, part: &str) -> bool {
    written.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The rule that a text breaks as it stands, whatever is done with it, and the word that does: one that
/// names nothing but the insides of objects.
pub(super) fn judge_text(text: &str) -> Option<(Rule, &str)> {
    let is_field = text.contains('{') && text.contains('}');
    let reads = ["PYTEST_CURRENT", "__file__"]
        .into_iter()
        .find(|word| if word.starts_with('_') { text == *word } else { text.contains(word) });
    if let Some(word) = reads {
        return Some((Rule::Tampering, word));
    }
    if text.contains(char::is_whitespace) && !is_field {
        return None;
    }
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let word = words
        .find(|word| is_inside(word) || COMPARES.contains(word) || PROTOCOLS.contains(word))?;
    Some((Rule::Tampering, word))
}

/// The rule that an attribute breaks whose name stands in a string; one of an object that nobody knows
/// could be that of `unittest.mock` where the file has that.
pub(super) fn judge_attribute(holder: Option<&str>, name: &str, mocks: bool) -> Option<Rule> {
    let last = name.rsplit('.').next().unwrap_or(name);
    if LENIENT.contains(&last) || mocks && MOCKING.contains(&last) {
        return Some(Rule::Tampering);
    }
    if name.split('.').any(is_inside) {
        return Some(Rule::Tampering);
    }
    if matches!(last, "exec" | "eval" | "compile") {
        return Some(Rule::CodeFromStrings);
    }
    let is_method = COMPARES.contains(&last) || PROTOCOLS.contains(&last);
    if is_method || matches!(name, "__import__" | "__doc__") {
        return Some(Rule::Tampering);
    }
    // The way to a part of something else may lead over any module.
    let ways = name.match_indices('.').map(|(at, _)| at + 1);
    let ways = std::iter::once(0).chain(ways).map(|at| &name[at..]);
    let found =
        ways.filter(|way| way.contains('.')).find_map(|way| judge(Some(way), way, Use::Called));
    found.or_else(|| {
        let full = format!("{}.{name}", holder?);
        judge(Some(&full), &full, Use::Called)
    })
}

/// Whether pytest or unittest takes a function of a module or class for its own by this name.
pub(super) fn is_hook(name: &str) -> bool {
    const NAMES: &str = " setup_module teardown_module setup_function teardown_function setup_class \
        teardown_class setup_method teardown_method setUpModule tearDownModule setUpClass tearDownClass \
        setUp tearDown load_tests ";
    name.starts_with("pytest_") || !name.contains(' ') && NAMES.contains(&format!(" {name} "))
}

/// Whether a name is one that the interpreter itself provides and tests rely on.
pub(super) fn is_builtin(name: &str) -> bool {
    const NAMES: &str = " abs all any ascii bin bool bytearray bytes callable chr classmethod complex \
        delattr dict dir divmod enumerate eval exec filter float format frozenset getattr globals hasattr \
        hash hex id input int isinstance issubclass iter len list locals map max memoryview min next \
        object oct open ord pow print property range repr reversed round set setattr slice sorted \
        staticmethod str sum super tuple type vars zip __import__ AssertionError Exception \
        BaseException ValueError TypeError KeyError IndexError AttributeError RuntimeError OSError \
        StopIteration NotImplementedError ImportError ";
    !name.contains(' ') && NAMES.contains(&format!(" {name} "))
}
