"""Testifies to what a command does, beside pytest's own account of it; run by the launcher in the place
of a tracer.

Cases are run by a protocol of its own: fixtures are pytest's, but how a phase ended is what this file saw
at the test function itself, which reports, hooks and exit codes cannot change. What is seen is told over a
descriptor that leads out of the sandbox, one signed line at a time: what was told cannot be taken back.
Examples of docstrings alone are counted, and told at the end.

It watches, in the order in which it can: audited events that the repository's own code causes, machinery
(pytest, builtins, unittest) whose parts are replaced, the lines of the test functions, and the types of
the values that they are given. It judges nothing.
"""

# This file follows clocks.py, watch.py, found.py, examples.py, events.py and channel.py, in one namespace.

import fcntl
import os
import sys
import threading
import time
import types

_HERE = os.path.dirname(os.path.abspath(__file__))
_LOOKS = 200  # Looks at other modules before the end: their number, lest a slow machine sees less.

_real, _is_there = os.path.realpath, os.path.lexists
_get_ident, _clock = threading.get_ident, time.monotonic
_Code, _Module = types.CodeType, types.ModuleType
_module_dict = _Module.__dict__["__dict__"].__get__


class _Witness:
    def __init__(self, settings):
        key = bytes.fromhex(settings.pop("key"))
        self.root = settings["root"].rstrip("/") + "/"
        self.places = {}
        self.library = os.path.dirname(_real(os.__file__)) + "/"
        self.watched = {self.root + path: spans for path, spans in settings["watched"]}
        self.helpers = {self.root + path: spans for path, spans in settings["helpers"]}
        self.copies = frozenset(settings["modules"])
        self.repository = tuple(["/" + path for path in settings["modules"]])
        self.tops = {path.split("/")[0].split(".")[0] for path in self.copies}
        self.installed = tuple(prefix.rstrip("/") + "/" for prefix in (sys.prefix, sys.base_prefix))
        self.scratch = _HERE + "/"
        self.allowed = tuple(self.scratch + name for name in ("tmp", "home", "pytest-cache"))
        os.unlink(os.path.join(_HERE, "run.json"))
        channel = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 150)
        self.streams = []
        for number, name in ((1, "out"), (2, "err")):
            path = os.path.join(_HERE, "streams", name)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
            os.dup2(descriptor, number)
            os.close(descriptor)
            descriptor = os.open(path, os.O_RDONLY)
            self.streams.append(fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 150))
            os.close(descriptor)
        self.own_stdout, self.own_stderr = sys.stdout, sys.stderr
        self.send = _Channel(key, channel).send
        self.count, self.counted = _counting(self.library, self.place)
        self.seen, self.rows = set(), {}
        self.parts = None
        self.looked = 0
        self.faulty = False
        self.modules = {}
        self.busy = set()
        self.main = _get_ident()
        self.outside = {}
        if settings["shift"]:
            _shift(settings["shift"])
        self.send("begin")
        import atexit

        is_whole = self.wholeness()
        atexit.register(self.finish(is_whole))
        sys.addaudithook(self.audit(is_whole))

    def finish(self, is_whole):
        pid, send = _getpid(), self.send

        def finish():
            if _getpid() != pid:
                return
            self.look(at_end=True)
            if is_whole() and not self.faulty:
                counts = self.counted()
                if counts:
                    send("examples", counts=counts)
                send("end")

        return finish

    def wholeness(self):
        """A function that tells whether nobody laid hands on the witness so far: what cannot be kept from a
        program that finds it is made to end the account."""
        kind, held = type(self), self.__dict__
        attributes = _attributes(kind)
        names = ("root", "library", "send", "watched", "helpers", "seen", "places", "count", "counted")
        parts, own = dict(attributes), {name: held[name] for name in names}
        broken = []

        def is_whole():
            if not broken:
                for name, part in parts.items():
                    if name in held or attributes.get(name) is not part:
                        broken.append(name)
                for name, part in own.items():
                    if held.get(name) is not part:
                        broken.append(name)
            return not broken

        return is_whole

    def resume(self):
        pass

    # Events.

    def audit(self, is_whole):
        direct, indirect, places = _DIRECT, _INDIRECT, _PLACES
        busy = self.busy
        own, getframe = globals(), _getframe

        def hook(event, args):
            if event in direct or event in indirect or event in places or event == "import":
                me = _get_ident()
                if me in busy:
                    return
                busy.add(me)
                try:
                    frame = getframe(1)
                    if event == "object.__getattr__" and frame.f_globals is own:
                        return  # Our own look at a frame's code, once a call.
                    if is_whole():
                        self.event(event, args, frame)
                except BaseException:
                    # Too deep, or worse: what was not seen makes the account incomplete.
                    self.faulty = True
                finally:
                    busy.discard(me)

        return hook

    def place(self, filename):
        """The file that a name of code is, whichever way it leads there."""
        place = self.places.get(filename)
        if place is None:
            place = filename
            if filename[:1] != "<":
                try:
                    place = _real(filename)
                except (OSError, ValueError):
                    pass
            self.places[filename] = place
        return place

    def event(self, event, args, frame):
        if event in _PLACES:
            path = args[0]
            if type(path) is bytes:
                path = path.decode("utf-8", "surrogateescape")
            if type(path) is not str:
                return
            if self.is_record(path):
                self.report("record", "", self.nearest(frame))
            elif self.is_own_text(path):
                nearest = self.nearest(frame)
                if nearest is not None or not _is_traceback(frame):
                    self.report("text", "compiled" if path.endswith(".pyc") else "", nearest)
            elif event == "open" and self.is_ours(frame):
                path = _real(path)
                if path.startswith(self.root) and not path.endswith(".py"):
                    writes = type(args[2]) is int and args[2] & (os.O_WRONLY | os.O_RDWR)
                    self.report("data", "%s %s" % ("write" if writes else "read", path[len(self.root) :]), frame)
        elif event == "import":
            name = args[0]
            if name in ("ctypes", "_ctypes") or name.split(".")[0] in ("_pytest", "pluggy"):
                self.report("memory" if "ctypes" in name else "machinery", "", self.nearest(frame))
        elif event in _INDIRECT:
            if event.startswith("socket.") and _is_local(args):
                return
            self.report(_INDIRECT[event], "", self.nearest(frame))
        elif event == "exec" or event == "compile":
            self.code(event, args, frame)
        else:
            detail = args[1] if _DIRECT[event] == "attribute" and len(args) > 1 else ""
            if self.is_ours(frame):
                self.report(_DIRECT[event], detail if type(detail) is str else "", frame)
            elif event == "object.__getattr__":
                if detail in _LEADS and self.leads(args[0], detail, frame):
                    self.report("reached", detail, self.nearest(frame))
            elif _DIRECT[event] == "frames" and frame is not None:
                if self.asks_for_frames(frame):
                    self.report("frames", "", self.nearest(frame))
            elif _DIRECT[event] == "code" and frame is not None:
                module = frame.f_globals.get("__name__")
                if type(module) is str and module.split(".")[0] not in _MAKES_CODE + _LOADS_CODE:
                    self.report("code", "", self.nearest(frame))

    def asks_for_frames(self, frame):
        """Whether somebody of the library asks for frames in the name of its caller; others look at one for
        reasons of theirs."""
        module = frame.f_globals.get("__name__")
        if module in ("inspect", "traceback"):
            return True
        is_usual = type(module) is str and module.split(".")[0] in _LOOKS_AT_FRAMES
        if _get_ident() != self.main and self.nearest(frame) is None:
            return not is_usual
        return is_usual and self.is_ours(frame.f_back)

    def leads(self, value, attribute, frame):
        """Whether somebody of the library follows an object to a frame, or a test function to its code."""
        name = frame.f_globals.get("__name__") if frame is not None else None
        if type(name) is str and name.split(".")[0] in _LOOKS_AT_FRAMES:
            return False
        if attribute != "__code__":
            return True
        return type(value) is _Function and value.__code__.co_filename in self.watched

    def code(self, event, args, frame):
        if event == "exec":
            code = args[0]
            self.faulty |= not self.count(code, frame)
            name = self.place(code.co_filename)
            if code.co_name == "<module>" and name[:1] == "<" and not name.startswith("<frozen "):
                module = frame.f_globals.get("__name__") if frame is not None else None
                if module in ("importlib._bootstrap", "_frozen_importlib"):
                    self.report("written", "", self.nearest(frame), True)
            if code.co_name == "<module>" and name.startswith("/") and ("module", name) not in self.seen:
                if not self.is_coloured(frame) and not (self.is_ours(frame) and not _is_there(name)):
                    self.seen.add(("module", name))
                    self.module(name, frame)
            if code.co_name == "<module>" and name.startswith(self.root):
                if self.parts is None:
                    self.parts, self.classes = _parts()
                    self.loaded = dict(sys.modules)
                    self.usual = set(self.loaded)
                    self.look_around()
                known = self.modules.setdefault(name, code)
                if known is not code and known != code:
                    # Code that claims to be a file's, and is not what the file was compiled to.
                    self.report("foreign", "", self.nearest(frame))
        else:
            name = args[1] if len(args) > 1 else ""
            if type(name) is bytes:
                name = name.decode("utf-8", "surrogateescape")
        if self.is_ours(frame):
            self.report("code", "", frame)
            return
        module = frame.f_globals.get("__name__") if frame is not None else None
        if type(module) is not str:
            return
        first = module.split(".")[0]
        if first in _RUNS_TEXT or event == "exec" and first not in _MAKES_CODE and self.is_library(frame):
            self.report("code", "", self.nearest(frame))

    def is_library(self, frame):
        path = self.place(frame.f_code.co_filename)
        return path.startswith(self.library) and "/site-packages/" not in path

    def module(self, name, frame):
        """Tells of a module that can be a file of the program's own making, or a copy of a module of the
        repository that lies elsewhere."""
        parts = name.split("/")
        if name.startswith(self.root):
            self.report("written", name[len(self.root) :], self.nearest(frame), True)
            return
        # While pytest starts, the copy is its own.
        own = self.parts is None and self.nearest(frame) is None
        for count in range(1, min(len(parts), 8)):
            if not own and "/".join(parts[-count:]) in self.copies:
                self.report("copy", "/".join(parts[-count:]), self.nearest(frame), True)
                return
        # An environment may lie in such a place, too.
        if name.startswith(_WRITABLE + (self.scratch,)) and not name.startswith(self.installed):
            self.report("written", "", self.nearest(frame), True)

    def is_coloured(self, frame):
        """Whether pytest colours what it prints, for which it has a package that may be the one under test. No
        code of the repository asked for that, and no name that a program can change tells."""
        nearest = None
        while frame is not None:
            path = self.place(frame.f_code.co_filename)
            if path.startswith(self.root):
                return False
            if nearest is None and "/_pytest/" in path and path.startswith(self.installed):
                nearest = path
            frame = frame.f_back
        return nearest is not None and ("/_pytest/_io/" in nearest or "/_pytest/_code/" in nearest)

    def is_record(self, path):
        if not path.startswith("/"):
            if path in ("mem", "maps", "fd", "results.jsonl"):
                return True  # It may be meant below any directory.
            path = os.path.join(os.getcwd(), path)
        path = os.path.realpath(path)
        if path.startswith("/proc/") and path.endswith(("/mem", "/maps", "/fd")):
            return True
        return (path + "/").startswith(self.scratch) and not path.startswith(self.allowed)

    def is_own_text(self, path):
        """Whether a path is that of a test, or of what an interpreter made of one."""
        try:
            path = _real(path)
        except (OSError, ValueError):
            return False
        return path in self.watched or path.startswith(self.root) and path.endswith(".pyc")

    def is_ours(self, frame):
        return frame is not None and self.place(frame.f_code.co_filename).startswith(self.root)

    def nearest(self, frame):
        while frame is not None and not self.is_ours(frame):
            frame = frame.f_back
        return frame

    def report(self, kind, detail, frame, always=False):
        if frame is not None:
            path, line = self.place(frame.f_code.co_filename)[len(self.root) :], frame.f_lineno or 0
        elif always or _get_ident() != self.main:
            # Threads of the library do what they were told to, by nobody that can be seen.
            path, line = "", 0
        else:
            return
        key = (kind, detail, path, line)
        if key not in self.seen:
            self.seen.add(key)
            self.send("event", kind=kind, detail=_text(detail), path=_text(path), line=line)

    # What does not belong to the repository, and is changed.

    def changed(self, holder, name):
        key = ("changed", holder, name)
        if key not in self.seen:
            self.seen.add(key)
            self.send("changed", holder=_text(holder), name=_text(name))

    def look(self, at_end=False):
        """Tells what of the machinery is another object than when the repository's code began."""
        if self.parts is None or self.looked >= _LOOKS and not at_end:
            return
        me = _get_ident()
        self.busy.add(me)
        try:
            for holder, name, value, held in self.parts:
                now = held.get(name, _GONE)
                if now is not value:
                    self.changed(holder, name)
            for holder, names, held in self.classes:
                for name in held.keys() - names:
                    # Machinery keeps notes of what it has said on its own classes.
                    if name.startswith("_") and not name.endswith("__") and type(held.get(name)) is bool:
                        continue
                    self.changed(holder, name)
            self.look_around()
            self.look_for_modules()
        except Exception:
            self.faulty = True  # Whatever is odd about a module.
        finally:
            self.looked += 1
            self.busy.discard(me)

    def look_for_modules(self):
        """Tells what came into the place of modules that are not the repository's, and what nothing loaded."""
        for name, module in list(sys.modules.items()):
            if type(name) is not str or name.split(".")[0] in self.tops:
                continue
            known = self.loaded.setdefault(name, module)
            if known is module and (known is None or name in self.usual):
                continue
            self.usual.add(name)
            is_loaded = issubclass(type(module), _Module) and _module_dict(module).get("__spec__") is not None
            if known is not module or not is_loaded:
                self.loaded[name] = module
                self.changed("sys.modules", name)

    def look_around(self):
        """Tells what of other modules is a function of the repository's, which they did not define, and what
        was called in them and is another object now."""
        for name, module in list(sys.modules.items()):
            if not issubclass(type(module), _Module) or type(name) is not str:
                continue
            held = _module_dict(module)
            file = held.get("__file__")
            if type(file) is not str and name in _BUILT_IN and name not in ("builtins", "sys"):
                self.look_at_built_in(name, module, held)
            if type(file) is not str or file.startswith(self.root) or name == "__main__":
                continue
            if name not in self.outside:
                self.outside[name] = {attribute: part for attribute, part in held.items() if type(part) in _CALLED}
            for attribute, part in self.outside[name].items():
                if held.get(attribute, part) is not part:
                    self.changed(name, attribute)
            for attribute, value in list(held.items()):
                if type(value) is _Function:
                    self.stranger(name, attribute, value)
                elif type(value) is type and value.__module__ == name:
                    for inner, part in list(_attributes(value).items()):
                        if type(part) is _Function:
                            self.stranger(name, "%s.%s" % (attribute, inner), part)

    def look_at_built_in(self, name, module, held):
        """Tells what of a module without a file is none of its own functions, or was one."""
        known = self.outside.setdefault(name, {})
        for attribute, part in list(held.items()):
            if type(part) is types.BuiltinFunctionType and part.__self__ is module:
                known.setdefault(attribute, part)
            if type(part) is _Function or type(part) is types.BuiltinFunctionType and part.__self__ is not module:
                known.setdefault(attribute, None)
            if known.get(attribute, part) is not part:
                self.changed(name, attribute)

    def stranger(self, holder, name, function):
        code = function.__code__
        place = self.place(code.co_filename)
        if place.startswith(self.root):
            key = ("stranger", holder, name)
            if key not in self.seen:
                self.seen.add(key)
                path = place[len(self.root) :]
                self.send(
                    "stranger", holder=_text(holder), name=_text(name), path=_text(path), line=code.co_firstlineno
                )

    # Cases.

    def begin_conftests(self):
        """Knows the machinery that was loaded since: the repository may be a part of what pytest needs."""
        if self.parts is None:
            return
        parts, classes = _parts()
        known = {part[:2] for part in self.parts}
        self.parts += [part for part in parts if part[:2] not in known]
        known = {part[0] for part in self.classes}
        self.classes += [part for part in classes if part[0] not in known]

    def begin_tests(self, items):
        """Runs what pytest collected, in its order; true where it did."""
        if not items:
            return None
        import pytest

        config, session = items[0].config, items[0].session
        capture = config.pluginmanager.getplugin("capturemanager")
        if capture is not None:
            capture.suspend_global_capture(in_=True)
        witness = self

        class Protocol:
            @pytest.hookimpl(tryfirst=True)
            def pytest_runtest_protocol(self, item, nextitem):
                witness.protocol(item, nextitem)
                return True

        config.pluginmanager.register(Protocol(), "protocol-of-the-witness")
        self.look()
        self.send("collected", ids=[_text(item.nodeid) for item in items])
        for at, item in enumerate(items):
            nextitem = items[at + 1] if at + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
            if session.shouldstop:
                break
        return True

    def protocol(self, item, nextitem):
        hook = item.ihook
        self.send("case", id=_text(item.nodeid))
        watch = _watch()(self)

        def setup():
            with watch.about(False):
                hook.pytest_runtest_setup(item=item)

        def teardown():
            with watch.about(False):
                hook.pytest_runtest_teardown(item=item, nextitem=nextitem)

        if self.phase(item, "setup", setup):
            self.look()
            self.phase(item, "call", lambda: self.call(item, watch))
        self.look()
        self.phase(item, "teardown", teardown)
        self.look()
        told = [{path: sorted(lines) for path, lines in part.items()} for part in (watch.call, watch.around)]
        self.send("lines", id=_text(item.nodeid), lines=told[0], around=told[1])

    def phase(self, item, when, action):
        before = self.sizes()
        raised = None
        try:
            action()
        except BaseException as error:
            raised = _raised(error)
        texts = self.written(before)
        self.send("phase", id=_text(item.nodeid), when=when, raised=raised, stdout=texts[0], stderr=texts[1])
        return raised is None

    def call(self, item, watch):
        import pytest

        ended, used, after = [], [], []
        usual = item.runtest
        plain = type(item) is pytest.Function and not _is_asynchronous(item.obj)

        def runtest():
            # The name of a case may say what is expected; that there is one is all that programs look at.
            os.environ["PYTEST_CURRENT_TEST"] = "a test (call)"
            # Nobody else is asked between these looks and the test.
            self.look()
            used.extend(_used(item, self.root, self.repository))
            try:
                with watch.about(True):
                    if plain:
                        given = item.funcargs
                        function = item.obj
                        function(**{name: given[name] for name in item._fixtureinfo.argnames})
                    else:
                        usual()
            finally:
                self.look()
                after.extend(_used(item, self.root, self.repository))
            failed = getattr(item, "_excinfo", None)
            ended.append(failed[0].value if failed else None)
            if failed:
                raise failed[0].value

        item.runtest = runtest
        given, overridden = _given(item, self.root), _overridden(item)
        self.send("given", id=_text(item.nodeid), given=given)
        try:
            item.ihook.pytest_runtest_call(item=item)
        finally:
            del item.runtest
            node = _text(item.nodeid)
            said = _said(_examples(item), self.root)
            if given[-1:] != said[-1:] and said:
                self.send("given", id=node, given=given + said)
            for holder, name in _overridden(item):
                if (holder, name) not in overridden:
                    self.changed(holder, name)
            self.send("values", id=node, values=watch.values + watch.comparisons + watch.failures + watch.callers)
            used += [part for part in after if part not in used]
            self.tell_used(node, used + list(watch.constants))
        if not ended:
            raise RuntimeError("the test function was not called to its end")

    def tell_used(self, node, used):
        """Tells rows by their numbers, each one itself when it is told first: cases have much in common."""
        new = []
        for row in used:
            if tuple(row) not in self.rows:
                self.rows[tuple(row)] = len(self.rows)
                new.append(row)
        self.send("used", id=node, rows=new, used=[self.rows[tuple(row)] for row in used])

    def sizes(self):
        self.flush()
        return [os.fstat(descriptor).st_size for descriptor in self.streams]

    def written(self, before):
        self.flush()
        read = (os.pread(fd, _MOST_TEXT, at) for fd, at in zip(self.streams, before))
        return [part.decode("utf-8", "replace") for part in read]

    def flush(self):
        for stream in (self.own_stdout, self.own_stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                pass


_GONE = object()
_MOST_FRAMES = 20
_CALLED = (_Function, type, types.BuiltinFunctionType)


def _parts():
    """(module or class, name, value, where it is held) of the machinery that is loaded, and (class, names,
    where they are held)."""
    parts, classes = [], []
    for name, module in list(sys.modules.items()):
        if not issubclass(type(module), _Module) or name.split(".")[0] not in _MACHINERY:
            continue
        held = _module_dict(module)
        for attribute, value in list(held.items()):
            parts.append((name, attribute, value, held))
            if isinstance(value, type) and name != "builtins" and getattr(value, "__module__", None) == name:
                inside = _attributes(value)
                holder = "%s.%s" % (name, attribute)
                parts += [(holder, inner, part, inside) for inner, part in inside.items()]
                classes.append((holder, frozenset(inside), inside))
    for attribute in ("excepthook", "displayhook", "exit", "settrace", "setprofile", "_getframe", "modules"):
        held = _module_dict(sys)
        parts.append(("sys", attribute, held.get(attribute, _GONE), held))
    return parts, classes


def _is_traceback(frame):
    """Whether a text is read to be shown below a line of a traceback."""
    asked = []
    while frame is not None and len(asked) < _MOST_FRAMES:
        asked.append(frame.f_globals.get("__name__"))
        frame = frame.f_back
    return "traceback" in asked and asked[0] in ("tokenize", "linecache")


def _is_local(args):
    """Whether a socket's event is about this machine alone."""
    for part in args:
        if type(part) is tuple and part:
            part = part[0]
        if type(part) is bytes:
            part = part.decode("utf-8", "replace")
        if type(part) is str:
            return part in ("localhost", "::1", "", "0.0.0.0", "::") or part[:1] in ("/", "\0") or part.startswith("127.")
    return True


def _is_asynchronous(function):
    import inspect

    function = inspect.unwrap(function)
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def start(settings, is_child):
    """Begins to watch this process."""
    return _Witness(settings)
