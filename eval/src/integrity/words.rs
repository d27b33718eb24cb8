//! Which rule a name breaks in a line that the original does not have.

use super::Rule;

const DECODERS: [&str; 9] =
    ["base64", "binascii", "zlib", "gzip", "bz2", "lzma", "zipimport", "zipfile", "tarfile"];
const DECODING: [&str; 8] = [
    "b64decode",
    "a85decode",
    "b85decode",
    "b32decode",
    "b16decode",
    "unhexlify",
    "fromhex",
    "decompress",
];
const TAMPERS: [&str; 36] = [
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
    // It agrees with whatever is near enough.
    "pytest.approx",
];
/// Those whose mere import has one purpose.
const NEVER: [&str; 6] = ["ctypes", "_ctypes", "_pytest", "pluggy", "faulthandler", "atexit"];
const MAKERS: [&str; 15] = [
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
];
const NETWORK: [&str; 9] = [
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
const INSIDES: [&str; 34] = [
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
    "co_code",
    "co_consts",
    "co_filename",
    "pluginmanager",
    "hookimpl",
    "hookspec",
    "_excinfo",
    "_fixtureinfo",
    "funcargs",
    "TestReport",
    "settrace",
    "setprofile",
    "get_objects",
    "get_referrers",
];
/// Methods that decide what an object equals.
pub(super) const COMPARES: [&str; 10] = [
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
    if usage != Use::Imported && written.split('.').any(|part| INSIDES.contains(&part)) {
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
    if starts(&MAKERS) {
        return Some(Rule::CodeFromStrings);
    }
    if starts(&TAMPERS) || NEVER.contains(&first) && name != first || INSIDES.contains(&last) {
        return Some(Rule::Tampering);
    }
    if usage != Use::Imported && (name.starts_with("unittest.mock.") || name.starts_with("mock.")) {
        return Some(Rule::Tampering);
    }
    if starts(&NETWORK) {
        return Some(Rule::Network);
    }
    if starts(&DECODERS) || DECODING.contains(&last) {
        return Some(Rule::EncodedCode);
    }
    None
}

/// The rule that an attribute breaks whose name stands in a string.
pub(super) fn judge_attribute(holder: Option<&str>, name: &str) -> Option<Rule> {
    if matches!(name, "exec" | "eval" | "compile") {
        return Some(Rule::CodeFromStrings);
    }
    if INSIDES.contains(&name) || COMPARES.contains(&name) || name == "__import__" {
        return Some(Rule::Tampering);
    }
    let full = format!("{}.{name}", holder?);
    judge(Some(&full), &full, Use::Called)
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
