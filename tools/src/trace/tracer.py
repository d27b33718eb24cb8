"""Observes which lines of a repository a process executes; run by the launcher, or by a child's hook.

It owns the observation and its log, one file a process; the merging is done by whoever reads the
logs. Events go to a memory map as they happen, so that a process may be killed, or may close each of
its descriptors, without losing what was seen. Traced objects are never hashed, compared, printed or
asked for anything: their types are compared by identity, their attributes read by the slots of `type`.

The log is text, a record a line, its first byte the kind:
    F file path            a file, numbered in order
    l file line            a line in the import phase; L in the test phase
    c file line name       a function in the import phase; C in the test phase
    t file line name       a function that is first entered outside the main thread
    a file line:column ... what ran of an annotation, a bound or an alias that is evaluated on demand
    m file clock line      first start of a module-level line
    e file line:clock ...  last ends of the module-level lines of one module execution
    N file phase name      module code began, under this __name__
    i file file line       that module was itself what this line of the second file asked for
    b file line line       a jump from a condition to a target
    p file line line       one that was no longer watched for: taken if its target was executed
    d path                 a data file
    g json                 names used by code that comes from no file
    u json                 a module and a name in it that something unpickled asks for
    s json                 a snapshot; the last one wins
    q                      functions that had nothing left to tell were called very often
"""

# This file follows facts.py, and settrace.py and monitoring.py follow it, in one namespace.

_FIRST_SEGMENT = 1 << 16
_NEXT_SEGMENT = 1 << 20


class Log:
    """An append-only memory map. A process that forks leaves its map to its parent."""

    def __init__(self, directory, begin):
        self._directory = directory
        self._begin = begin  # Writes what each log begins with.
        self._growing = threading.RLock()
        self.forked()

    def forked(self):
        """Starts anew, but only when there is something to write: most children execute a program."""
        self._growing = threading.RLock()
        self._map = None
        self._stem = None
        self._segment = 0
        self._broken = False

    def write(self, record):
        # One call of C code: no other thread can come between.
        try:
            self._map.write(record)
        except (ValueError, AttributeError):
            self._grow(record)

    def _grow(self, record):
        with self._growing:
            if self._broken:
                return
            try:
                if self._stem is None:
                    self._stem = "%s/%020d-%d" % (self._directory, _now(), _getpid())
                    self._add_segment(_FIRST_SEGMENT)
                    self._begin()
                    return self.write(record)
                self._add_segment(max(_NEXT_SEGMENT, len(record)))
            except OSError:
                # Nowhere to write: the run goes on, its trace lacks what follows.
                self._broken = True
                return
            self._map.write(record)

    def _add_segment(self, size):
        # Written, not only sized: a full disk is then an error here and no signal later.
        path = "%s.%03d" % (self._stem, self._segment)
        self._segment += 1
        descriptor = _open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            left, blank = size, bytes(_FIRST_SEGMENT)
            while left > 0:
                left -= _write(descriptor, blank[:left])
            self._map = _mmap(descriptor, size)
        finally:
            _close(descriptor)


class File:
    """What is known of one file of the repository."""

    __slots__ = ("number", "path", "lines", "functions", "codes", "modules", "code", "starts")

    def __init__(self, number, path):
        self.number = number
        self.path = path
        self.lines = set()
        self.functions = set()
        self.codes = {}
        self.modules = set()
        self.code = self.starts = None

    def is_alone(self, code):
        """Whether no other code of the module begins on the same line."""
        if self.starts is None:
            if self.code is None:
                return False
            self.starts, pending = {}, [self.code]
            while pending:
                inner = pending.pop()
                self.starts[inner.co_firstlineno] = self.starts.get(inner.co_firstlineno, 0) + 1
                pending.extend(part for part in inner.co_consts if type(part) is CodeType)
        return self.starts.get(code.co_firstlineno) == 1


class Module:
    """One execution of module code: its frame, the line it is at, where its lines ended."""

    __slots__ = ("file", "frame", "line", "ends")

    def __init__(self, file, frame):
        self.file = file
        self.frame = frame
        self.line = 0
        self.ends = {}


class Tracer:
    """The part that both ways of tracing share."""

    kind = ""

    def __init__(self, settings, is_child):
        self.root = _real(settings["root"])
        self.prefix = self.root.rstrip("/") + "/"
        self.directory = settings["directory"]
        self.marker = self.directory + "/tests-began"
        self.log = Log(self.directory, self.header)
        self.files = {}  # co_filename -> File, None (foreign) or False (from no file)
        self.by_path = {}
        self.environments = {}
        self.foreign = set()  # names of modules that came with the interpreter or its packages
        self.prefixes = _prefixes()
        self.test = False
        self.phases = settings.get("phases", True)
        self.last = not self.phases  # No other phase comes, in which lines count anew.
        self.clock = self.began_at = 0
        self.stacks = {}
        self.data = set()
        self.generated_names = set()
        self.pickled = set()
        self.generated_codes = {}
        self.is_child = is_child
        # Lines in a row, none new, after which a function is given up and all of its lines count; 0 is never.
        self.patience = settings.get("patience", 0)
        # Whether what runs in tests is known from another run; settrace alone minds.
        self.imports_only = settings.get("imports_only", False)
        self.main = _get_ident()
        self.roots = []
        self.fixtures = []
        self.finished = False

    # Where code comes from.

    def classify(self, code):
        """The File of a code object, None for foreign code, False for code from no file."""
        filename = code.co_filename
        found = self._classify(filename, code)
        self.files[filename] = found
        return found

    def _classify(self, filename, code):
        if filename[:1] == "<":
            return None if filename.startswith("<frozen ") else False
        try:
            real = _real(filename)
            if not _is_file(real):
                # `co_filename` of what was compiled from a string is free text.
                return None if _in_archive(real) else False
        except (OSError, ValueError):
            return False
        path = self.relative(real)
        if path is None:
            return None
        if not path.endswith(".py") and not _is_source_of(real, code):
            return False  # A template: its code is generated, only its name is the file's.
        file = self.by_path.get(path)
        if file is None:
            file = File(len(self.by_path), path)
            self.introduce(file)
            self.by_path[path] = file
        return file

    def relative(self, real):
        """The path below the root, None outside of it and in environments below it."""
        if not real.startswith(self.prefix):
            return None
        path = real[len(self.prefix) :]
        directory, _, _ = path.rpartition("/")
        return None if self.is_environment(directory) else path

    def is_environment(self, directory):
        known = self.environments.get(directory)
        if known is None:
            parent, _, name = directory.rpartition("/")
            if not directory:
                known = False
            elif name in ("site-packages", "dist-packages"):
                known = True
            else:
                known = _is_file(self.prefix + directory + "/" + "pyvenv.cfg")
                known = known or self.is_environment(parent)
            self.environments[directory] = known
        return known

    def is_foreign(self, filename, frame):
        """Whether a frame's globals are those of a module of the interpreter or of a package."""
        held = frame.f_globals
        name = _get(held, "__name__")
        if type(name) is not str or name == "__main__":
            return False
        if name in self.foreign:
            return True
        if filename[:1] == "<" and type(file := _get(held, "__file__")) is str:
            filename = file
        module = sys.modules.get(name)
        if not issubclass(type(module), ModuleType) or _MODULE_DICT(module) is not held:
            return False
        if filename.startswith(self.prefixes):
            if self.relative(_real(filename)) is None:
                self.foreign.add(name)
                return True
        return False

    # Module code on the clock.

    def begin_module(self, file, frame):
        name = _get(frame.f_globals, "__name__")
        if type(name) is not str:
            name = ""
        key = (name, self.test)
        if key not in file.modules:
            file.modules.add(key)
            encoded = name.encode("utf-8", "backslashreplace").replace(b"\n", b"?")
            self.log.write(b"N%d %d %s\n" % (file.number, self.test, encoded))
            asked = self.importer(frame) if len(file.modules) == 1 else None
            if asked is not None:
                self.log.write(b"i%d %d %d\n" % (file.number, *asked))
        stack = self.stacks.setdefault(_get_ident(), [])
        module = Module(file, frame)
        stack.append(module)
        return module

    def importer(self, frame):
        """Number and line of the repository's file that asked for a module, None where that is no file's of it.

        A package that is only imported on the way to one of its modules was not asked for: the search for it
        runs inside of another."""
        searches, frame = 0, frame.f_back
        while frame is not None and frame.f_code.co_filename.startswith(_IMPORTS):
            searches += frame.f_code.co_name == "_find_and_load"
            frame = frame.f_back
        if frame is None or searches != 1:
            return None
        code = frame.f_code
        file = self.files[code.co_filename] if code.co_filename in self.files else self.classify(code)
        return (file.number, frame.f_lineno) if file else None

    def module_at(self, frame):
        """The execution that a frame is; what is above it on its stack was left by an exception."""
        stack = self.stacks.get(_get_ident(), ())
        for module in reversed(stack):
            if module.frame is frame:
                while stack[-1] is not module:
                    self.end_module(stack[-1])
                return module
        return None

    def module_line(self, module, line):
        previous = module.line
        if previous == line:
            return  # A loop within one line: a settrace tells of each round, monitoring of the first.
        self.clock += 1
        if previous:
            module.ends[previous] = self.clock
        if line not in module.ends:
            self.log.write(b"m%d %d %d\n" % (module.file.number, self.clock, line))
            module.ends[line] = 0
        module.line = line

    def end_module(self, module):
        self.clock += 1
        if module.line:
            module.ends[module.line] = self.clock
        module.frame = None
        ends = " ".join(["%d:%d" % pair for pair in module.ends.items()])
        self.log.write(b"e%d %s\n" % (module.file.number, ends.encode("ascii")))
        stack = self.stacks.get(_get_ident(), [])
        for at in range(len(stack) - 1, -1, -1):
            if stack[at] is module:
                del stack[at]
                break
        if not stack:
            self.stacks.pop(_get_ident(), None)

    # Functions and lines.

    def function(self, file, code):
        name = code.co_name
        # Class bodies are not optimised.
        if code.co_flags & _CO_OPTIMIZED and name[:1] != "<":
            if _is_on_demand(code):
                self.on_demand(file, code)
                return
            key = (code.co_firstlineno, name)
            if key not in file.functions:
                file.functions.add(key)
                kind = b"C" if self.test else b"c"
                encoded = name.encode("utf-8", "backslashreplace")
                place = (file.number, code.co_firstlineno, encoded)
                self.log.write(b"%s%d %d %s\n" % (kind, *place))
                if _get_ident() != self.main:
                    self.log.write(b"t%d %d %s\n" % place)

    def on_demand(self, file, code):
        key = (code.co_firstlineno, code.co_code)
        if key not in file.functions:
            file.functions.add(key)
            places = {(line, column) for line, _, column, _ in code.co_positions() if line and column is not None}
            text = " ".join(["%d:%d" % place for place in sorted(places)])
            if text:
                self.log.write(b"a%d %s\n" % (file.number, text.encode("ascii")))

    # Code that comes from no file.

    def generated(self, code, frame):
        if not self.by_path:
            return  # The repository has not begun: this is the start of a tool.
        key = id(code)
        if self.generated_codes.get(key) is code:
            return
        if self.is_foreign(code.co_filename, frame):
            return  # Made by a package for itself.
        if len(self.generated_codes) >= _MANY:
            self.generated_codes.clear()
        self.generated_codes[key] = code
        names, imports = set(), set()
        package = _get(frame.f_globals, "__package__")
        _mentions(code, package if type(package) is str else "", names, imports)
        self.mentioned(names, imports)

    def looked_up(self, frame):
        """Notes a name in the text of an annotation, which Python 3.14 looks up itself: no code runs for it."""
        own = frame.f_locals
        reference = own["self"]
        name = getattr(reference, "__forward_arg__", None)
        holder = own["globals"] or getattr(reference, "__globals__", None)
        path = _get(holder, "__file__") if type(holder) is dict else None
        is_own = type(path) is not str or self.relative(_real(path)) is not None
        if self.by_path and type(name) is str and name.isidentifier() and is_own:
            self.mentioned({name}, set())

    def mentioned(self, names, imports):
        names = sorted(names - self.generated_names)
        if names or imports:
            self.generated_names.update(names)
            record = _dumps({"names": names, "imports": sorted(imports)})
            self.log.write(b"g%s\n" % record.encode("ascii"))

    def unpickled(self, module, name):
        if type(module) is str and type(name) is str and (module, name) not in self.pickled:
            record = _dumps([module, name.partition(".")[0]])
            self.log.write(b"u%s\n" % record.encode("ascii"))
            self.pickled.add((module, name))

    # Data files.

    def audit(self, event, args):
        if event == "open":
            path, mode, flags = args
            if type(flags) is int and flags & os.O_ACCMODE == os.O_WRONLY:
                return
            if type(mode) is str and mode[:1] in "wax" and "+" not in mode:
                return
        elif event in ("os.listdir", "os.scandir"):
            path = args[0]
            if path is None:
                path = "."
        elif event == "sqlite3.connect":
            path = args[0]
        elif event == "pickle.find_class":
            if (self.by_path or self.is_child) and not self.finished:
                try:
                    self.unpickled(*args)
                except Exception:
                    pass  # As below.
            return
        else:
            return
        try:
            if type(path) is bytes:
                path = _fsdecode(path)
            if type(path) is str and not self.finished:
                self.touched(path, event == "open")
        except Exception:
            pass  # Whatever is odd about the path, its user shall meet it, not the tracer.

    def touched(self, path, is_open):
        if path[:1] != "/":
            path = _getcwd() + "/" + path
        if path in self.data:
            return
        real = _real(path)
        relative = "." if real == self.root else self.relative(real)
        if relative is None or relative.endswith(".pyc"):
            return
        frame = _getframe(1)
        while frame is not None and frame.f_code.co_filename == __file__:
            if frame.f_code.co_name == "_is_source_of":
                return
            frame = frame.f_back
        if _is_import(frame, relative, is_open):
            return
        _stat(real)
        self.data.add(path)
        encoded = _fsencode(relative)
        if b"\n" not in encoded:
            self.log.write(b"d%s\n" % encoded)

    # The ends.

    def begin_conftests(self):
        pass

    def begin_tests(self, items):
        self.roots = self.current_roots()
        self.roots.extend(root for root in _roots_of(self, items) if root not in self.roots)
        self.fixtures = _fixtures(self, items)
        self.test = self.last = True
        for file in self.by_path.values():
            file.lines.clear()
            file.functions.clear()
        try:
            _close(_open(self.marker, os.O_WRONLY | os.O_CREAT, 0o600))
        except OSError:
            pass
        self.write_snapshot()
        self.restart()

    def current_roots(self):
        roots = []
        for entry in sys.path:
            if type(entry) is str:
                real = _real(entry or ".")
                relative = "" if real == self.root else self.relative(real)
                if relative is not None and relative not in roots and not self.is_environment(relative):
                    roots.append(relative)
        return roots

    def write_snapshot(self):
        try:
            record = _dumps(_snapshot(self))
        except Exception as error:
            record = _dumps({"error": "%s: %s" % (type(error).__name__, error)})
        self.log.write(b"s%s\n" % record.encode("ascii"))

    def finish(self):
        if self.finished:
            return
        self.stop()
        for stack in list(self.stacks.values()):
            for module in stack[::-1]:
                self.end_module(module)
        self.write_snapshot()
        self.finished = True

    def forked(self):
        """In a child: its own log; what the parent saw is in the parent's."""
        self.is_child = True
        self.began_at = self.clock
        self.main = _get_ident()
        self.log.forked()

    def header(self):
        """What each log begins with."""
        facts = {"python": list(sys.version_info[:3]), "tracer": self.kind}
        facts.update(child=self.is_child, clock=self.began_at)
        self.log.write(b"h%s\n" % _dumps(facts).encode("ascii"))
        for file in sorted(self.by_path.values(), key=lambda file: file.number):
            self.introduce(file)

    def introduce(self, file):
        path = _fsencode(file.path).replace(b"\n", b"?")
        self.log.write(b"F%d %s\n" % (file.number, path))

    def start(self):
        if self.is_child:
            self.test = _is_file(self.marker)
            self.last |= self.test
        self.log.write(b"")
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forked)
        import atexit

        atexit.register(self.finish)
        self.install()
        sys.addaudithook(self.audit)
        sys.addaudithook = _seen_hooks(sys.addaudithook)

    def resume(self):
        pass


def _is_on_demand(code):
    """Whether the compiler made a function of what is evaluated on demand.

    Its parameter has a name that no source can give from 3.14 on, but for annotations: their function, which may be
    written by hand as well, raises `NotImplementedError` without looking the name up. Below 3.14 that of a type
    parameter is nested, and not called after the function around it."""
    names = code.co_varnames
    if names[:1] == (".format",):
        return True
    if code.co_name == "__annotate__" and names == ("format",) and code.co_posonlyargcount == 1:
        loads = (one for one in dis.get_instructions(code) if one.opname == "LOAD_COMMON_CONSTANT")
        return any(one.argrepr == "NotImplementedError" for one in loads)
    nested = code.co_flags & _CO_NESTED and not names and sys.version_info >= (3, 12)
    return bool(nested and code.co_qualname == code.co_name)


def _seen_hooks(add):
    """Python traces nothing of an audit hook unless the hook allows it: here each does."""

    @functools.wraps(add)
    def addaudithook(hook):
        def seen(event, args):
            return hook(event, args)

        seen.__cantrace__ = True
        return add(seen)

    return addaudithook


def start(settings, is_child):
    """Begins to trace this process."""
    forced = settings.get("settrace")
    kind = Settrace if forced or not hasattr(sys, "monitoring") else Monitoring
    tracer = kind(settings, is_child)
    tracer.start()
    if not is_child:
        # Children find the hook behind everything that they would have found without it.
        known = os.environ.get("PYTHONPATH")
        hook = settings["hook"]
        os.environ["PYTHONPATH"] = hook if not known else known + os.pathsep + hook
        os.environ["GISTIFY_TRACE"] = settings["settings"]
    return tracer
