"""Testifies to what a command does, beside pytest's own account of it; run by the launcher in the place
of a tracer.

Cases are run by a protocol of its own: fixtures are pytest's, but how a phase ended is what this file saw
at the test function itself, which reports, hooks and exit codes cannot change. What is seen is told over a
descriptor that leads out of the sandbox, one signed line at a time: what was told cannot be taken back.
It watches, in the order in which it can: audited events that the repository's own code causes, machinery
(pytest, builtins, unittest) whose parts are replaced, the lines of the test functions, and the types of
the values that they are given. It judges nothing.
"""

# This file follows clocks.py and watch.py, in one namespace.

import fcntl
import hashlib
import json
import os
import sys
import threading
import time
import types

_HERE = os.path.dirname(os.path.abspath(__file__))
_MOST_RECORDS = 4000
_MOST_BYTES = 1 << 18
_MOST_TEXT = 1 << 16
_LOOKS = 200  # Looks at other modules before the end: their number, lest a slow machine sees less.

_get_ident, _getpid, _clock = threading.get_ident, os.getpid, time.monotonic
_Code, _Module = types.CodeType, types.ModuleType
_module_dict = _Module.__dict__["__dict__"].__get__

# Events that count only where a line of the repository causes them itself.
_DIRECT = {
    "compile": "code",
    "exec": "code",
    "marshal.loads": "code",
    "marshal.load": "code",
    "code.__new__": "code",
    "function.__new__": "code",
    "sys.settrace": "tracing",
    "sys.setprofile": "tracing",
    "sys.addaudithook": "tracing",
    "sys.monitoring.register_callback": "tracing",
    "sys._getframe": "frames",
    "sys._current_frames": "frames",
    "sys._current_exceptions": "frames",
    "gc.get_objects": "frames",
    "gc.get_referrers": "frames",
    "gc.get_referents": "frames",
    "object.__getattr__": "attribute",
    "object.__setattr__": "attribute",
    "object.__delattr__": "attribute",
    "os.kill": "process",
    "os.killpg": "process",
    "os.fork": "process",
    "os.forkpty": "process",
}
# Events that count wherever on its way a line of the repository asked for them.
_INDIRECT = {
    "pickle.find_class": "code",
    "os.exec": "process",
    "os.spawn": "process",
    "os.posix_spawn": "process",
    "os.system": "process",
    "subprocess.Popen": "process",
    "ctypes.dlopen": "memory",
    "ctypes.dlsym": "memory",
    "ctypes.call_function": "memory",
    "ctypes.cdata": "memory",
    "socket.connect": "network",
    "socket.sendto": "network",
    "socket.sendmsg": "network",
    "socket.getaddrinfo": "network",
    "socket.gethostbyname": "network",
}
_PLACES = {"open", "os.listdir", "os.scandir", "os.remove", "os.rename", "os.truncate", "os.link", "os.symlink"}
# Parts of the standard library that run text which they are given.
_RUNS_TEXT = ("timeit", "code", "codeop", "runpy", "pdb", "bdb", "profile", "cProfile", "trace", "doctest")
_MACHINERY = ("pytest", "_pytest", "pluggy", "unittest", "builtins")
# Where any program can write, beside its own directories.
_WRITABLE = ("/tmp/", "/var/tmp/", "/dev/shm/", "/run/")


class _Channel:
    """Signed lines over a descriptor that no redirection of the program reaches."""

    def __init__(self, key, descriptor):
        pid, write, sha256 = _getpid(), os.write, hashlib.sha256
        dumps = json.JSONEncoder(ensure_ascii=True, check_circular=False).encode
        lock = threading.RLock()
        told = [0, 0]

        def send(record, **fields):
            if _getpid() != pid:
                return
            fields["record"] = record
            data = dumps(fields).encode("ascii")
            with lock:
                number, size = told
                if record != "end" and (number > _MOST_RECORDS or size + len(data) > _MOST_BYTES):
                    if told[1] <= _MOST_BYTES:
                        told[1] = _MOST_BYTES + 1
                        send_now(number, dumps({"record": "cut"}).encode("ascii"))
                    return
                send_now(number, data)

        def send_now(number, data):
            told[0], told[1] = number + 1, told[1] + len(data)
            inner = sha256(key + b"%d " % number + data).digest()
            mac = sha256(key + inner).hexdigest().encode("ascii")
            line = b"\nwitness %d %s %s\n" % (number, mac, data)
            while line:
                line = line[write(descriptor, line) :]

        self.send = send


def _text(value):
    if not isinstance(value, str):
        value = repr(value)
    return str.encode(value, "utf-8", "backslashreplace").decode("utf-8")


def _raised(exception):
    kind = type(exception)
    try:
        message = _text(str(exception))[:_MOST_TEXT]
    except BaseException as error:
        message = "<str() of the exception raised %s>" % type(error).__name__
    return {"kind": _text(kind.__qualname__), "module": _text(kind.__module__), "message": message, "frames": []}


class _Witness:
    def __init__(self, settings):
        key = bytes.fromhex(settings.pop("key"))
        self.root = settings["root"].rstrip("/") + "/"
        self.watched = {self.root + path: spans for path, spans in settings["watched"]}
        self.copies = frozenset(settings["modules"])
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
        self.seen = set()
        self.parts = None
        self.looked = 0
        self.faulty = False
        self.modules = {}
        self.busy = set()
        self.pid = _getpid()
        if settings["shift"]:
            _shift(settings["shift"])
        self.send("begin")
        import atexit

        atexit.register(self.finish)
        sys.addaudithook(self.audit())

    def finish(self):
        if _getpid() != self.pid:
            return
        self.look(at_end=True)
        if not self.faulty:
            self.send("end")

    def resume(self):
        pass

    # Events.

    def audit(self):
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
                    self.event(event, args, frame)
                except BaseException:
                    # Too deep, or worse: what was not seen makes the account incomplete.
                    self.faulty = True
                finally:
                    busy.discard(me)

        return hook

    def event(self, event, args, frame):
        if event in _PLACES:
            path = args[0]
            if type(path) is bytes:
                path = path.decode("utf-8", "surrogateescape")
            if type(path) is not str or not self.is_record(path):
                return
            self.report("record", "", self.nearest(frame))
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
            elif _DIRECT[event] == "frames" and frame is not None:
                # Whoever asks these asks for frames; others of the library look at one for reasons of theirs.
                if frame.f_globals.get("__name__") in ("inspect", "traceback"):
                    self.report("frames", "", self.nearest(frame))

    def code(self, event, args, frame):
        if event == "exec":
            code = args[0]
            name = code.co_filename
            if code.co_name == "<module>" and name.startswith("/") and ("module", name) not in self.seen:
                if not self.is_coloured(frame):
                    self.seen.add(("module", name))
                    self.module(name, frame)
            if code.co_name == "<module>" and name.startswith(self.root):
                if self.parts is None:
                    self.parts, self.classes = _parts()
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
        if type(module) is str and module.split(".")[0] in _RUNS_TEXT:
            self.report("code", "", self.nearest(frame))

    def module(self, name, frame):
        """Tells of a module that can be a file of the program's own making, or a copy of a module of the
        repository that lies elsewhere."""
        parts = name.split("/")
        if name.startswith(self.root):
            self.report("written", name[len(self.root) :], self.nearest(frame), True)
            return
        for count in range(1, min(len(parts), 8)):
            if "/".join(parts[-count:]) in self.copies:
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
            path = frame.f_code.co_filename
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

    def is_ours(self, frame):
        return frame is not None and frame.f_code.co_filename.startswith(self.root)

    def nearest(self, frame):
        while frame is not None and not self.is_ours(frame):
            frame = frame.f_back
        return frame

    def report(self, kind, detail, frame, always=False):
        if frame is not None:
            path, line = frame.f_code.co_filename[len(self.root) :], frame.f_lineno or 0
        elif always:
            path, line = "", 0
        else:
            return
        key = (kind, detail, path, line)
        if key not in self.seen:
            self.seen.add(key)
            self.send("event", kind=kind, detail=_text(detail), path=_text(path), line=line)

    # What does not belong to the repository, and is changed.

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
                    key = ("changed", holder, name)
                    if key not in self.seen:
                        self.seen.add(key)
                        self.send("changed", holder=_text(holder), name=_text(name))
            for holder, names, held in self.classes:
                for name in held.keys() - names:
                    # Machinery keeps notes of what it has said on its own classes.
                    if name.startswith("_") and not name.endswith("__") and type(held.get(name)) is bool:
                        continue
                    key = ("changed", holder, name)
                    if key not in self.seen:
                        self.seen.add(key)
                        self.send("changed", holder=_text(holder), name=_text(name))
            self.look_around()
        except Exception:
            self.faulty = True  # Whatever is odd about a module.
        finally:
            self.looked += 1
            self.busy.discard(me)

    def look_around(self):
        """Tells what of other modules is a function of the repository's, which they did not define."""
        for name, module in list(sys.modules.items()):
            if not issubclass(type(module), _Module) or type(name) is not str:
                continue
            held = _module_dict(module)
            file = held.get("__file__")
            if type(file) is not str or file.startswith(self.root) or name == "__main__":
                continue
            for attribute, value in list(held.items()):
                if type(value) is _Function:
                    self.stranger(name, attribute, value)
                elif type(value) is type and value.__module__ == name:
                    for inner, part in list(_attributes(value).items()):
                        if type(part) is _Function:
                            self.stranger(name, "%s.%s" % (attribute, inner), part)

    def stranger(self, holder, name, function):
        code = function.__code__
        if code.co_filename.startswith(self.root):
            key = ("stranger", holder, name)
            if key not in self.seen:
                self.seen.add(key)
                path = code.co_filename[len(self.root) :]
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
        if self.phase(item, "setup", lambda: hook.pytest_runtest_setup(item=item)):
            self.look()
            self.phase(item, "call", lambda: self.call(item))
        self.look()
        self.phase(item, "teardown", lambda: hook.pytest_runtest_teardown(item=item, nextitem=nextitem))
        self.look()

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

    def call(self, item):
        import pytest

        ended = []
        watch = _watch()(self)
        usual = item.runtest
        plain = type(item) is pytest.Function and not _is_asynchronous(item.obj)

        def runtest():
            # The name of a case may say what is expected; that there is one is all that programs look at.
            os.environ["PYTEST_CURRENT_TEST"] = "a case of the witness (call)"
            with watch:
                if plain:
                    given = item.funcargs
                    function = item.obj
                    function(**{name: given[name] for name in item._fixtureinfo.argnames})
                else:
                    usual()
            failed = getattr(item, "_excinfo", None)
            ended.append(failed[0].value if failed else None)
            if failed:
                raise failed[0].value

        item.runtest = runtest
        used = _used(item, self.root)
        self.send("given", id=_text(item.nodeid), given=_given(item))
        try:
            item.ihook.pytest_runtest_call(item=item)
        finally:
            del item.runtest
            node = _text(item.nodeid)
            self.send("lines", id=node, lines=sorted(watch.lines))
            self.send("values", id=node, values=watch.values)
            after = [part for part in _used(item, self.root) if part not in used]
            self.send("used", id=node, used=used + after)
        if not ended:
            raise RuntimeError("the test function was not called to its end")

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


def _given(item):
    """The parameters of a case, as texts: plain values, and the types of all others."""

    params = getattr(getattr(item, "callspec", None), "params", None) or {}
    return [[_text(name), _text(_told(value, 0))[:2000]] for name, value in sorted(params.items())]


def _told(value, inside):
    kind = type(value)
    if kind in (int, float, complex, bool, str, bytes, type(None)):
        return repr(value)[:200]
    if kind in (list, tuple) and inside < _DEEP:
        return "%s(%s)" % (kind.__name__, ", ".join([_told(part, inside + 1) for part in value[:_MOST_PARTS]]))
    if kind is dict and inside < _DEEP:
        return _told(list(value.items()), inside + 1)
    return kind.__qualname__


def _used(item, root):
    """What a test finds by its names: functions and classes of the repository by where they are from, plain
    numbers as texts. Those that are used by functions of the test's own file are followed."""
    function = getattr(item, "function", None)
    while type(function) is not _Function:
        function = getattr(function, "__func__", None) or getattr(function, "__wrapped__", None)
        if function is None:
            return []
    while type(getattr(function, "__wrapped__", None)) is _Function:
        function = function.__wrapped__
    found, pending, seen = [], [function], set()

    def add(key, value):
        if type(value) is _Function:
            code = value.__code__
            path = code.co_filename
            if path.startswith(root):
                found.append([_text(key), "function", _text(path[len(root) :]), code.co_firstlineno])
                if path == function.__code__.co_filename:
                    pending.append(value)
            else:
                found.append([_text(key), "function", "", 0])
        elif isinstance(value, type):
            module = sys.modules.get(value.__module__) if type(value.__module__) is str else None
            path = getattr(module, "__file__", None) or ""
            path = path[len(root) :] if path.startswith(root) else ""
            found.append([_text(key), "class " + _text(value.__qualname__), _text(path), 0])
        elif type(value) in (int, float, bool, list, tuple, dict):
            text = _told(value, 0)
            if "'" not in text and '"' not in text:
                found.append([_text(key), _text(text)[:2000], "", 0])
        else:
            found.append([_text(key), "object", "", 0])

    while pending and len(found) < _MOST_VALUES:
        current = pending.pop()
        codes = [current.__code__]
        for code in codes:
            if code in seen:
                continue
            seen.add(code)
            codes += [part for part in code.co_consts if type(part) is _Code]
            for name in code.co_names:
                if name in current.__globals__ and name not in seen:
                    seen.add(name)
                    add(name, current.__globals__[name])
    for kind in _mro(item.cls) if isinstance(getattr(item, "cls", None), type) else ():
        for name, value in list(_attributes(kind).items()):
            value = getattr(value, "__func__", value)
            if type(value) is _Function and value.__code__.co_filename.startswith(root):
                add("%s.%s" % (kind.__qualname__, name), value)
    return found


def _is_asynchronous(function):
    import inspect

    function = inspect.unwrap(function)
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def start(settings, is_child):
    """Begins to watch this process."""
    return _Witness(settings)
