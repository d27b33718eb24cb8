"""Below 3.12: `sys.settrace`, which a program pays for at every call.

It owns which frames get a local trace; what is written of them, tracer.py says.
"""

_OFTEN = 256  # Calls without news, after which a function is told by its first line alone.
_BUSY = 1 << 18  # Such calls of all functions, after which a run is busy: a quarter of a second of tracing.


def _set_trace(trace):
    """CPython 3.11 refuses it as long as another thread does the same."""
    while True:
        try:
            sys.settrace(trace)
            break
        except RuntimeError as error:
            if type(error) is not RuntimeError:
                raise
            _sleep(0.0001)
    if not hasattr(threading, "_start_new_thread"):
        # From 3.13 on `threading` has another way to start one.
        threading.settrace(trace)


class Settrace(Tracer):
    """Below 3.12. A frame gets a local trace only while its code has lines left to see."""

    kind = "settrace"

    def install(self):
        tracer = self
        files = self.files
        classify = self.classify

        # Reading a frame's code is an audited event before 3.12, and the whole program pays for it:
        # most foreign frames are told by the name of their module.
        foreign = self.foreign
        quiet = {}  # name of a module -> (its globals, first lines of code that has nothing left to tell)
        get = _get
        calls = _BUSY

        def trace(frame, event, arg):
            nonlocal calls
            held = frame.f_globals
            name = get(held, "__name__")
            if type(name) is str:
                if name in foreign:
                    return None
                silent = quiet.get(name)
                if silent is not None and silent[0] is held and frame.f_lineno in silent[1]:
                    calls -= 1
                    if calls < 0:
                        calls = sys.maxsize
                        tracer.log.write(b"q\n")
                    return None
            code = frame.f_code
            try:
                file = files[code.co_filename]
            except KeyError:
                file = classify(code)
            if file is None:
                tracer.is_foreign(code.co_filename, frame)
                return None
            if file is False:
                tracer.generated(code, frame)
                return None
            known = file.codes.get(id(code))
            if known is None:
                if code.co_name == "<module>":
                    return tracer.module_trace(file, frame)
                if len(file.codes) >= _MANY:
                    file.codes.clear()  # A file that is executed over and over.
                known = file.codes[id(code)] = Watched(tracer, file, code)
            if known.test is not tracer.test:
                known.reset()
            if known.left:
                return known.local
            known.calls += 1
            first = code.co_firstlineno
            if known.calls >= _OFTEN and type(name) is str and tracer.last and file.is_alone(code) and first == frame.f_lineno:
                silent = quiet.get(name)
                if silent is None or silent[0] is not held:
                    silent = quiet[name] = (held, set())
                silent[1].add(first)
            return None

        self.trace = trace
        self.stopped = False
        _set_trace(trace)
        self.follow_threads()

    def follow_threads(self):
        """Traces threads, also those that the program starts by `_thread`. `threading.settrace` would end a thread by a
        RuntimeError where two begin at once."""
        tracer, start = self, _thread.start_new_thread

        class Thread:
            def __init__(self, function):
                self.function = function

            def __call__(self, *args, **named):
                if not tracer.stopped:
                    _set_trace(tracer.trace)
                return self.function(*args, **named)

            def __repr__(self):
                return repr(self.function)  # What Python names where it ends by an exception.

        def start_new_thread(function, *more):
            return start(Thread(function) if callable(function) else function, *more)

        _thread.start_new_thread = _thread.start_new = start_new_thread
        if hasattr(threading, "_start_new_thread"):
            threading._start_new_thread = start_new_thread

    def audit(self, event, args):
        # An exception inside of a trace function (the recursion limit) ends all tracing; a program
        # may end it, too. Events are frequent enough to notice.
        if event == "object.__getattr__" or event == "builtins.id":
            return  # Mostly our own look at a frame's code, once a call: we are there.
        if _gettrace() is None and event != "sys.settrace" and not self.stopped:
            _set_trace(self.trace)
        Tracer.audit(self, event, args)

    def module_trace(self, file, frame):
        tracer = self
        file.code, file.starts = frame.f_code, None
        lines, number, write = file.lines, file.number, self.log.write
        module = self.begin_module(file, frame)

        def local(frame, event, arg):
            if event == "line":
                line = frame.f_lineno
                if line not in lines:
                    lines.add(line)
                    write(b"%s%d %d\n" % (b"L" if tracer.test else b"l", number, line))
                tracer.module_at(frame)
                tracer.module_line(module, line)
            elif event == "return":
                tracer.module_at(frame)
                tracer.end_module(module)
            return local

        return local

    def resume(self):
        # The program may have set its own, or have raised RecursionError inside of ours.
        if sys.gettrace() is not self.trace and not self.stopped:
            _set_trace(self.trace)

    def restart(self):
        if self.imports_only:
            self.stop()

    def stop(self):
        self.stopped = True
        if sys.gettrace() is self.trace:
            _set_trace(None)


class Watched:
    """A code object, its lines not yet seen in this phase, and the local trace of its frames."""

    __slots__ = ("tracer", "file", "code", "all", "left", "local", "test", "calls")

    def __init__(self, tracer, file, code):
        self.tracer, self.file, self.code = tracer, file, code
        self.all = _lines_of(code)
        self.left = set()
        self.test = None
        self.calls = 0
        number, write, lines, left = file.number, tracer.log.write, file.lines, self.left
        patience = budget = tracer.patience

        def seen(line):
            if line not in lines:
                lines.add(line)
                write(b"%s%d %d\n" % (b"L" if tracer.test else b"l", number, line))

        def local(frame, event, arg):
            nonlocal budget
            if event == "line":
                line = frame.f_lineno
                if line in left:
                    left.discard(line)
                    seen(line)
                    budget = patience
                else:
                    budget -= 1
                    if not budget:
                        for line in sorted(left):
                            seen(line)
                        left.clear()
                        budget = patience
                if not left and tracer.last:
                    frame.f_trace = None
                    return None
            return local

        self.local = local

    def reset(self):
        """A new phase: every line counts anew."""
        self.test = self.tracer.test
        self.left.update(self.all)
        self.tracer.function(self.file, self.code)
