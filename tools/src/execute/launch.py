"""Starts a command in this process and records what it did; written into a run's scratch directory.

It owns the start (sys.path, sys.argv and __main__ as the interpreter itself would leave them) and the
record (JSON lines). It judges nothing, and leaves the repository's own configuration of pytest alone.
Everything that the record needs is bound here, before the program can replace it.
"""

import sys

if sys.path and sys.path[0] == __file__.rpartition("/")[0]:
    # Python put it there for this file; what belongs there depends on the command.
    del sys.path[0]

import json
import os
from collections import deque

_HERE = os.path.dirname(os.path.abspath(__file__))
_PID = os.getpid()
_MAX_FRAMES = 20
_MAX_ENDED = 400
_open, _write, _close, _getpid = os.open, os.write, os.close, os.getpid
_dumps = json.JSONEncoder(ensure_ascii=True, check_circular=False).encode
_RESULTS = os.path.join(_HERE, "results.jsonl")
_MACHINERY = (__file__,)
# Where the program begins.
_ROOT = os.path.realpath(os.getcwd())
# The process that serves runs by fork, where this is one, and the point at which it waits.
_SERVER = None
_WAITS_AT = None


def _record(kind, **fields):
    """Appends one record. No descriptor stays open: a test may count or close them all."""
    if _getpid() != _PID:
        return  # A fork of the program that came back here is not the run.
    fields["record"] = kind
    data = _dumps(fields).encode("ascii") + b"\n"
    descriptor = _open(_RESULTS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        while data:
            data = data[_write(descriptor, data) :]
    finally:
        _close(descriptor)


def _watch_opens():
    """Records each file below the directory of the run that is opened, once."""
    root, exists, seen = os.getcwd(), os.path.lexists, set()
    absolute, decode = os.path.abspath, os.fsdecode

    def hook(event, args):
        if event != "open" or _getpid() != _PID:
            return
        path = args[0]
        if not isinstance(path, (str, bytes)):
            return
        path = absolute(decode(path))
        if path in seen or not path.startswith(root + os.sep) or path.startswith(_HERE + os.sep):
            return
        seen.add(path)
        _record("opened", path=_text(path[len(root) + 1 :]), found=exists(path))

    sys.addaudithook(hook)


def _text(value):
    """A string that is valid UTF-8, whatever the program made of it."""
    if not isinstance(value, str):
        value = repr(value)
    return str.encode(value, "utf-8", "backslashreplace").decode("utf-8")


def _is_python(item):
    """Whether a case is a function or the examples of a text, nothing that a plugin makes of a file."""
    kinds = [(kind.__module__, kind.__name__) for kind in type(item).__mro__]
    return ("_pytest.python", "Function") in kinds or ("_pytest.doctest", "DoctestItem") in kinds


def _message(exception):
    try:
        return _text(_failed_examples(exception) or str(exception))
    except BaseException as error:
        return "<str() of the exception raised %s>" % type(error).__name__


def _failed_examples(exception):
    """What an error of a docstring's examples is about, which tells no more than where they stand by itself."""
    kind = type(exception)
    if kind.__module__ == "_pytest.doctest" and kind.__name__ == "MultipleDoctestFailures":
        return "\n".join([_failed_examples(failure) or "" for failure in exception.failures])
    if kind.__module__ != "doctest" or kind.__name__ not in ("DocTestFailure", "UnexpectedException"):
        return None
    text = ">>> " + exception.example.source
    if kind.__name__ == "DocTestFailure":
        return text + exception.got
    return text + "%s: %s" % (exception.exc_info[0].__qualname__, exception.exc_info[1])


def _raised(exception, traceback):
    """An exception with those that its traceback shows besides: what it comes of, and the members of a group."""
    record = _one_raised(exception, traceback)
    pending, seen, shown = _shown_with(exception), [exception], []
    while pending and len(shown) < _MAX_FRAMES:
        error = pending.pop(0)
        if not any(error is known for known in seen):
            seen.append(error)
            shown.append(_one_raised(error, error.__traceback__))
            pending = _shown_with(error) + pending
    record["shown"] = shown
    return record


def _decided(decide, case, when, traceback):
    """Records the values that decided a failure, where they are wanted."""
    if decide is not None:
        _record("decided", case=_text(case), when=_text(when), values=decide(traceback, _ROOT))


def _shown_with(error):
    linked = error.__cause__
    if linked is None and not error.__suppress_context__:
        linked = error.__context__
    return [one for one in (linked,) + _members(error) if isinstance(one, BaseException)]


def _members(error):
    """The exceptions of a group: of the interpreter's kind, or of the package that brings it to older ones."""
    is_group = any(kind.__name__ == "BaseExceptionGroup" for kind in type(error).__mro__)
    members = getattr(error, "exceptions", ()) if is_group else ()
    return members if isinstance(members, tuple) else ()


def _one_raised(exception, traceback):
    frames = deque(maxlen=_MAX_FRAMES)
    # What lies above the program's outermost frame is the machinery's, and changes with its version.
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(_MACHINERY):
        traceback = traceback.tb_next
    while traceback is not None:
        code = traceback.tb_frame.f_code
        frames.append([_text(code.co_filename), traceback.tb_lineno or 0, _text(code.co_name)])
        traceback = traceback.tb_next
    kind = type(exception)
    return {
        "kind": _text(kind.__qualname__),
        "module": _text(kind.__module__),
        "message": _message(exception),
        "frames": list(frames),
    }


def _load(name):
    """A module of ours beside this file, which the program does not find among its own."""
    path = os.path.join(_HERE, name + ".py")
    module = type(sys)("gistify_" + name)
    module.__file__ = path
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), module.__dict__)
    return module


def _begin_serving(serving):
    global _SERVER, _WAITS_AT
    _SERVER = _load("serve").Server(serving["directory"], serving["isolated"], serving["at"] == "tests")
    _WAITS_AT = serving["at"]


def _await_run(imports, absent):
    """Waits as a server. Returns the request in the process that became its run; this one ends here."""
    global _PID
    _preload(imports, absent)
    with open(_RESULTS, "rb") as file:
        recorded = file.read()
    request = _SERVER.next_run()
    if request is None:
        os._exit(0)
    _PID = _getpid()
    descriptor = _open(_RESULTS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    _write(descriptor, recorded)
    _close(descriptor)
    return request


def _preload(names, absent):
    """Imports what the runs will import from outside of the program, as far as that can be had."""
    if not names:
        return
    import warnings

    root = os.path.realpath(os.getcwd())
    before = list(sys.path)
    sys.path[:] = [path for path in before if not _is_below(path, root)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            if name.partition(".")[0] in absent:
                continue
            try:
                __import__(name)
            except BaseException:
                pass
    sys.path[:] = before


def _ended(exception):
    """Records the lines that an exception passed which ended the command, and those of what it came of.

    Each exception has a record, its lines outermost first. That of a file that could not be compiled has the file and
    the line last: no frame is in it."""
    pending, seen = [exception], []
    while pending and len(seen) < _MAX_FRAMES:
        error = pending.pop(0)
        if error is None or any(error is known for known in seen):
            continue
        seen.append(error)
        lines, traceback = [], error.__traceback__
        while traceback is not None and len(lines) < _MAX_ENDED:
            place = [_text(traceback.tb_frame.f_code.co_filename), traceback.tb_lineno or 0]
            if place not in lines:
                lines.append(place)
            traceback = traceback.tb_next
        source = None
        if isinstance(error, SyntaxError) and isinstance(error.filename, str):
            source = [_text(error.filename), error.lineno or 1]
        _record("ended", lines=lines, source=source)
        pending += [error.__cause__, error.__context__]
        pending += [inner for inner in _members(error) if isinstance(inner, BaseException)]


class _Own:
    """What pytest and its plugins import for themselves, where the program has a package of that name to
    do without: while they start, the environment comes before the program's directory. Then they keep
    what they have, and the program finds none of it."""

    def __init__(self, absent):
        self._absent = frozenset(absent)
        self._before = list(sys.path)
        if self._absent:
            root = os.path.realpath(os.getcwd())
            inside = [path for path in sys.path if _is_below(path, root)]
            sys.path[:] = [path for path in sys.path if path not in inside] + inside

    def absent(self):
        return self._absent

    def leave(self):
        if not self._absent:
            return
        sys.path[:] = self._before + [path for path in sys.path if path not in self._before]
        for name in list(sys.modules):
            if name.partition(".")[0] in self._absent:
                del sys.modules[name]
        self._absent = ()


def _is_below(path, root):
    path = os.path.realpath(path or ".")
    return path == root or path.startswith(root + os.sep)


class _Recorder:
    """The pytest plugin: facts of the hooks, no decisions. Works with pytest 6 to 9."""

    def __init__(self, spec, tracer, own, finder):
        max_failures = spec["max_failures"]
        self._serving = spec.get("serving")
        self._absent = spec["absent"]
        self._decide = spec["decide"]
        self._ends_behind_tests = False
        self._tracer = tracer
        self._own = own
        self._finder = finder
        self._max_failures = max_failures
        self._failures = 0
        self._session = None
        self._pending = {}

    def hooks(self):
        """Marks the methods as hooks, once pytest can be imported."""
        import pytest

        kind = type(self)
        wrapper = pytest.hookimpl(hookwrapper=True)
        first = pytest.hookimpl(tryfirst=True)
        for name in (
            "pytest_load_initial_conftests",
            "pytest_make_collect_report",
            "pytest_runtest_makereport",
        ):
            setattr(kind, name, wrapper(getattr(kind, name)))
        for name in (
            "pytest_collection",
            "pytest_configure",
            "pytest_runtestloop",
            "pytest_sessionfinish",
            "pytest_runtest_logstart",
        ):
            setattr(kind, name, first(getattr(kind, name)))
        return self

    def pytest_load_initial_conftests(self, early_config):
        if self._tracer is not None:
            self._tracer.begin_conftests()
        if self._finder is not None:
            # Plugins are loaded: from here on the tests ask for modules.
            self._own.leave()
            self._finder.release()
        outcome = yield
        error = outcome.excinfo
        if error is not None:
            exception = error[1]
            path = getattr(exception, "path", None)
            cause = exception.__cause__ or exception
            self._collection_error(_relative(path), cause)

    def pytest_collection(self, session):
        self._own.leave()
        if _WAITS_AT == "collection":
            request = _await_run(self._serving["imports"], self._absent)
            if request["tests"]:
                _name_tests(session.config, request["tests"])
            self._ends_with(request, session.config)

    def pytest_configure(self, config):
        # Workers of another process would take the tests, and their exceptions, out of sight.
        option = config.option
        if getattr(option, "numprocesses", None) or getattr(option, "tx", None):
            option.numprocesses, option.dist, option.tx = 0, "no", []
        # A plugin that shuffles tests by the clock would make each run another command.
        if getattr(option, "randomly_seed", None) == "default":
            option.randomly_seed, option.randomly_reorganize = 0, False
        # Nobody reads what is printed of these failures, and to show the statement of each frame pytest
        # parses its whole file: many times as long as the run itself where a long gist fails often.
        if self._max_failures is not None:
            option.tbstyle = "native"

    def pytest_make_collect_report(self, collector):
        outcome = yield
        if outcome.excinfo is not None:
            return
        report = outcome.get_result()
        call = getattr(report, "call", None)
        error = getattr(call, "excinfo", None)
        if report.outcome == "failed":
            if error is None:
                fields = {"kind": "", "module": "", "message": _text(str(report.longrepr)), "frames": []}
                _record("collection_error", id=_text(collector.nodeid), raised=fields)
                return
            exception = error.value
            if type(exception).__name__ == "CollectError" and exception.__cause__ is not None:
                exception = exception.__cause__
            self._collection_error(collector.nodeid, exception)

    def pytest_internalerror(self, excinfo):
        self._collection_error("", excinfo.value)

    def pytest_keyboard_interrupt(self, excinfo):
        # `pytest.exit` as well.
        _ended(excinfo.value)

    def _collection_error(self, node, exception):
        _ended(exception)
        _record("collection_error", id=_text(node), raised=_raised(exception, exception.__traceback__))

    def pytest_sessionstart(self, session):
        self._session = session

    def pytest_collection_finish(self, session):
        checks = [_text(item.nodeid) for item in session.items if not _is_python(item)]
        _record("collected", ids=[_text(item.nodeid) for item in session.items], checks=checks)

    def pytest_runtestloop(self, session):
        if self._tracer is not None:
            return self._tracer.begin_tests(session.items)
        if _WAITS_AT == "tests":
            functions = _load("mutate").Functions()
            changed = 0
            request = _await_run((), ())
            self._ends_with(request, session.config)
            for change in request["changes"]:
                changed += functions.change(
                    os.path.join(os.getcwd(), change["file"]),
                    change["first"],
                    change["before"],
                    change["after"],
                    session.config,
                )
            _record("changed", functions=changed)

    def _ends_with(self, request, config):
        self._ends_behind_tests = request["ends"] == "tests"
        if self._ends_behind_tests:
            # Nobody reads the statements of frames, for which pytest parses their files.
            config.option.tbstyle = "native"

    def pytest_sessionfinish(self, exitstatus):
        if self._ends_behind_tests:
            if self._tracer is not None:
                self._tracer.finish()
            # Nobody asks for what pytest tidies and prints now, which takes longer than most tests.
            _record("complete", code=int(exitstatus))
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(int(exitstatus))

    def pytest_runtest_logstart(self, nodeid):
        if self._tracer is not None:
            self._tracer.resume()
        _record("case", id=_text(nodeid))

    def pytest_runtest_makereport(self, item, call):
        if self._tracer is not None:
            self._tracer.resume()
        outcome = yield
        if call.excinfo is not None and outcome.excinfo is None:
            exception = call.excinfo.value
            key = (item.nodeid, call.when)
            self._pending[key] = _raised(exception, exception.__traceback__)
            _decided(self._decide, item.nodeid, call.when, exception.__traceback__)

    def pytest_runtest_logreport(self, report):
        streams = {"stdout": "", "stderr": "", "log": ""}
        for title, text in report.sections:
            # "Captured stdout setup": a report carries the sections of earlier phases as well.
            words = title.split()
            if len(words) == 3 and words[0] == "Captured" and words[2] == report.when:
                if words[1] in streams:
                    streams[words[1]] += text
        xfail = getattr(report, "wasxfail", None)
        _record(
            "phase",
            id=_text(report.nodeid),
            when=_text(report.when),
            outcome=_text(report.outcome),
            wasxfail=None if xfail is None else _text(xfail),
            raised=self._pending.pop((report.nodeid, report.when), None),
            **{name: _text(text) for name, text in streams.items()}
        )
        self._failures += report.outcome == "failed"
        # Told any earlier, pytest would end this test as the last of its module, class and session.
        if report.when == "teardown" and self._max_failures is not None:
            if self._failures >= self._max_failures:
                self._session.shouldstop = "enough tests failed"


def _name_tests(config, tests):
    """Has pytest collect these tests, as if the command had named them in the place of its own."""
    before = list(config.args)
    config.args[:] = tests

    def named(words):
        return [word for word in words if word not in before] + tests

    sys.argv[:] = named(sys.argv)
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = named(sys.orig_argv)
    params = config.invocation_params
    config.invocation_params = type(params)(args=named(params.args), plugins=params.plugins, dir=params.dir)


def _relative(path):
    if path is None:
        return ""
    try:
        return _text(os.path.relpath(str(path)))
    except ValueError:
        return _text(str(path))


def _link(spec):
    """Gives tests the gist for the modules of the repository; nothing where the run is no linked one."""
    if spec["link"] is None:
        return None
    sys.path.insert(0, _HERE)
    from gistify_run import linked, tolerant

    sys.path.remove(_HERE)
    root = os.getcwd()
    if spec["link"]["tolerant"]:
        tolerant.install(spec["link"]["tests"], root, _lost)
    return linked.install(spec["link"], root, spec["absent"])


def _lost(file, line, message):
    kind, _, message = message.partition(": ")
    raised = {"kind": kind, "module": "", "message": _text(message), "frames": [[_text(file), line, ""]]}
    _record("caught", raised=raised)


def _run_pytest(spec, tracer):
    as_module = spec["kind"] == "pytest-module"
    if as_module:
        _enter(os.getcwd())
    else:
        _enter(os.path.dirname(sys.executable))
    own = _Own(spec["absent"])
    try:
        import pytest
    except ModuleNotFoundError as error:
        if error.name != "pytest":
            raise
        _record("missing", module="pytest")
        sys.exit(1)
    _know_machinery()
    script = os.path.join(os.path.dirname(sys.executable), "pytest")
    file = os.path.join(os.path.dirname(pytest.__file__), "__main__.py") if as_module else script
    sys.argv[:] = [file] + spec["args"]
    main = _fresh_main(file)
    if as_module:
        import importlib.util

        main.__spec__ = importlib.util.find_spec("pytest.__main__")
        main.__package__ = "pytest"
    args = list(spec["args"])
    # The cache of one run must not order the next, and is no part of the repository. Options that
    # need it (`--lf` in a configuration) stay valid, which `-p no:cacheprovider` would break.
    args += ["-o", "cache_dir=" + os.path.join(_HERE, "pytest-cache")]
    if _loads_coverage(args):
        # Before 3.12 a second tracer would switch the first off, and it writes into the repository.
        args.append("--no-cov")
    args += _without_plugins(own.absent())
    recorder = _Recorder(spec, tracer, own, _link(spec))
    code = pytest.main(args, plugins=[recorder.hooks()])
    _record("complete", code=int(code))
    sys.exit(code)


def _without_plugins(absent):
    """Options that switch off the plugins of installed packages that the program has to do without."""
    if not absent:
        return []
    import importlib.metadata

    points = importlib.metadata.entry_points()
    if hasattr(points, "select"):
        points = points.select(group="pytest11")
    else:
        points = points.get("pytest11", ())
    gone = [point.name for point in points if point.value.partition(":")[0].partition(".")[0] in absent]
    return [word for name in gone for word in ("-p", "no:" + name)]


def _know_machinery():
    import _pytest
    import pluggy

    global _MACHINERY
    _MACHINERY += tuple(os.path.dirname(module.__file__) + os.sep for module in (_pytest, pluggy))


def _loads_coverage(args):
    import importlib.util

    off = any(word in ("no:cov", "no:pytest_cov", "-pno:cov", "-pno:pytest_cov") for word in args)
    by_hand = os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    return not off and not by_hand and importlib.util.find_spec("pytest_cov") is not None


def _enter(directory):
    """What the interpreter puts first on sys.path, unless it was told not to."""
    if not getattr(sys.flags, "safe_path", False) and not sys.flags.isolated:
        sys.path.insert(0, directory)


def _fresh_main(file):
    """A `__main__` without a trace of this file."""
    main = type(sys)("__main__")
    main.__builtins__ = sys.modules["builtins"]
    if "__annotations__" in globals():
        main.__annotations__ = {}  # Up to 3.13 the interpreter begins with it.
    if file is not None:
        main.__file__ = file
    sys.modules["__main__"] = main
    return main


def _run_module(spec, tracer):
    import runpy

    _enter(os.getcwd())
    sys.argv[:] = ["-m"] + spec["args"]
    _fresh_main(None)
    runpy._run_module_as_main(spec["target"])


def _run_script(spec, tracer):
    path = os.path.join(os.getcwd(), spec["target"])
    sys.argv[:] = [spec["target"]] + spec["args"]
    # A plain script is no archive, and the module that can tell takes longer to import than many a run by fork.
    if os.path.isdir(path) or (not path.endswith(".py") and _is_archive(path)):
        import runpy

        _enter(path)
        _fresh_main(None)
        runpy._run_module_as_main("__main__", False)
        return
    _enter(os.path.dirname(os.path.realpath(path)))
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        what = "%s: can't open file %r: [Errno %d] %s\n"
        sys.stderr.write(what % (sys.executable, path, error.errno, error.strerror))
        sys.exit(2)
    main = _fresh_main(path)
    main.__cached__ = None
    import importlib.machinery

    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    exec(compile(source, path, "exec", dont_inherit=True), main.__dict__)


def _is_archive(path):
    import zipfile

    return zipfile.is_zipfile(path)


def _run_console(spec, tracer):
    name = spec["target"]
    script = os.path.join(os.path.dirname(sys.executable), name)
    entry = spec.get("entry")
    _enter(os.path.dirname(sys.executable))
    sys.argv[:] = [script] + spec["args"]
    if entry is None and os.path.isfile(script):
        with open(script, "rb") as file:
            source = file.read()
        first = source.split(b"\n", 1)[0]
        if not (first.startswith(b"#!") and b"python" in first) and b"exec'" not in source[:200]:
            _record("missing", module=name)
            sys.stderr.write("%s: no Python program\n" % name)
            sys.exit(127)
        main = _fresh_main(script)
        exec(compile(source, script, "exec", dont_inherit=True), main.__dict__)
        return
    if entry is None:
        entry = _entry_point(name)
    if entry is None:
        _record("missing", module=name)
        sys.stderr.write("%s: command not found\n" % name)
        sys.exit(127)
    import importlib

    module, _, attributes = entry.partition(":")
    _fresh_main(script)
    target = importlib.import_module(module)
    for attribute in attributes.split("."):
        target = getattr(target, attribute)
    sys.exit(target())


def _entry_point(name):
    import importlib.metadata

    points = importlib.metadata.entry_points()
    if hasattr(points, "select"):
        found = list(points.select(group="console_scripts", name=name))
    else:
        found = [point for point in points.get("console_scripts", ()) if point.name == name]
    return found[0].value.partition("[")[0].strip() if found else None


_RUNNERS = {
    "pytest": _run_pytest,
    "pytest-module": _run_pytest,
    "module": _run_module,
    "script": _run_script,
    "console": _run_console,
}


def _own(traceback):
    """Drops the frames of this file: the program's own traceback begins below them."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    return traceback


def _settings():
    with open(os.path.join(_HERE, "run.json"), encoding="utf-8") as file:
        return json.load(file)


def _main():
    spec = _settings()
    # Loaded before the program can replace what it uses.
    decide = _load("gistify_run/decided").decide if spec["decides"] else None
    if spec.get("serving") is not None:
        _begin_serving(spec["serving"])
        if _WAITS_AT == "start":
            _await_run(spec["serving"]["imports"], spec["absent"])
            spec = _settings()
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = spec["orig_argv"]
    spec["decide"] = decide
    tracer = None
    if spec["trace"] is not None:
        scope = {"__name__": "tracer", "__file__": os.path.join(_HERE, "tracer.py")}
        with open(scope["__file__"], "rb") as file:
            exec(compile(file.read(), scope["__file__"], "exec"), scope)
        tracer = scope["start"](spec["trace"], is_child=False)
    _record("begin", python=list(sys.version_info[:3]))
    if spec.get("opens"):
        _watch_opens()
    pytest = spec["kind"].startswith("pytest")
    try:
        if tracer is not None and not pytest:
            tracer.begin_tests(())
        if not pytest:
            _link(spec)
        _RUNNERS[spec["kind"]](spec, tracer)
    except SystemExit as error:
        if not pytest:
            _ended(error)
            _decided(spec["decide"], "", "", error.__traceback__)
            _record("complete", code=None)
        raise
    except BaseException as error:
        own = _own(error.__traceback__)
        _ended(error)
        _record("raised", raised=_raised(error, own))
        _decided(spec["decide"], "", "", own)
        _record("complete", code=None)
        sys.excepthook(type(error), error.with_traceback(own), own)
        if isinstance(error, KeyboardInterrupt):
            import signal

            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(_PID, signal.SIGINT)
        sys.exit(1)
    _record("complete", code=0)


if __name__ == "__main__":
    _self = sys.modules["__main__"]
    _main()
