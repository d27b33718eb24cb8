"""The lines of test functions, and the values that they are given; the second part of one embedded program,
witness.py is the last. Values are looked at without running anything of theirs: types are compared by
identity, attributes read by the slots of `type`."""

import opcode
import sys
import types

_MOST_VALUES = 100
_MOST_PARTS = 50
_MOST_STEPS = 20
_MOST_FRAMES = 200
_DEEP = 3

# Bound here, so that a test that replaces them neither hears of the witness nor misleads it.
_getframe = sys._getframe
_Function = types.FunctionType
_mro = type.__dict__["__mro__"].__get__
_attributes = type.__dict__["__dict__"].__get__
_Slot = type(object.__eq__)
# Operations that ask an object what it equals, has or is, and the methods by which it answers.
_ASKS = {
    code
    for name, code in opcode.opmap.items()
    if name in ("COMPARE_OP", "CONTAINS_OP", "UNARY_NOT", "TO_BOOL") or "JUMP" in name and "IF" in name
}
_ANSWERS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__", "__bool__", "__len__")
_NO_ANSWERS = ("__iter__", "__next__", "__getitem__", "__hash__")
_VARYING = (OSError, StopIteration, StopAsyncIteration, GeneratorExit, KeyboardInterrupt)
# Where exceptions are defined that come when somebody waited too long.
_WAITS = ("queue", "_queue", "asyncio.exceptions", "subprocess", "concurrent.futures._base")
_GENERATES = 0x20 | 0x80 | 0x200
_AT_FIRST = 256
_RARELY = 7

def _lines(code):
    """The lines of a function, that of its head too: it may be told, and may not."""
    import dis

    return {line for _, line in dis.findlinestarts(code) if line is not None}


class _Watch:
    """The lines of the watched functions, and the types of what is returned to them."""

    def __init__(self, witness):
        self.root, self.watched, self.helpers = witness.root, witness.watched, witness.helpers
        self.call, self.around, self.values, self.known = {}, {}, [], {}
        self.comparisons, self.failures, self.callers, self.codes, self.met = [], [], [], {}, {}
        self.constants, self.asked = {}, {}

    def about(self, is_call):
        """Watches the call of a test, or its setup or teardown, of which nothing but lines is told."""
        self.is_call, self.lines = is_call, self.call if is_call else self.around
        return self

    def is_watched(self, code):
        return self.kind(code) == 2

    def kind(self, code):
        """2 for a test function, 1 for one that helps, 0 for all others."""
        known = self.known.get(id(code))
        if known is None or known[0] is not code:
            file, line, kind = code.co_filename, code.co_firstlineno, 0
            if any([first <= line <= last for first, last in self.watched.get(file, ())]):
                kind = 2
            elif any([first <= line <= last for first, last in self.helpers.get(file, ())]):
                kind = 1
            known = self.known[id(code)] = (code, kind)
        return known[1]

    def line(self, code, line):
        self.lines.setdefault(code.co_filename[len(self.root) :], set()).add(line)

    def helps(self, code, frame):
        """Tells which function of the directory calls one that helps, and what plain values that finds."""
        known, names, times = self.asked.get(id(code), (None, (), 0))
        if known is not code:
            names, times = tuple(dict.fromkeys(_asked(code)[0])), 0
        if times > _AT_FIRST:
            return
        self.asked[id(code)] = (code, names, times + 1)
        for name in names:
            value = _get(frame.f_globals, name, _get)
            if value is _get:
                value = _get(frame.f_builtins, name, _get)
            if type(value) in _PLAIN:
                row = ("constant %s in %s" % (_text(name), _text(code.co_name)), _text(_told(value, 0)), "", 0)
                if len(self.constants) < _MOST_ROWS:
                    self.constants[row] = None
        frame, steps = frame.f_back, 0
        self.call_row("caller " + _text(frame.f_code.co_name) if frame is not None else "", frame)
        while frame is not None and not frame.f_code.co_filename.startswith(self.root) and steps < _MOST_STEPS:
            frame, steps = frame.f_back, steps + 1
        file = frame.f_code.co_filename if frame is not None else ""
        is_other = file.startswith(self.root) and file not in self.helpers and file not in self.watched
        what = "called at load" if self.is_loading(frame) else "called back" if is_other else "called"
        row = [what, code.co_filename[len(self.root) :], code.co_firstlineno]
        if row not in self.callers and len(self.callers) < _MOST_ROWS:
            self.callers.append(row)

    def is_loading(self, frame):
        """Whether a frame runs for a module that a test imports: a gist does that when it is loaded itself."""
        steps = 0
        while frame is not None and steps < _MOST_FRAMES and not self.is_watched(frame.f_code):
            if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(self.root):
                return True
            frame, steps = frame.f_back, steps + 1
        return False

    def call_row(self, what, frame):
        code = frame.f_code if frame is not None else None
        if code is not None and code.co_filename.startswith(self.root) and code.co_name != "<module>":
            row = [what, code.co_filename[len(self.root) :], code.co_firstlineno]
            if row not in self.callers and len(self.callers) < _MOST_ROWS:
                self.callers.append(row)

    def is_comparison(self, frame):
        """Whether a frame is at an operation that asks an object what it equals, has or is."""
        code = frame.f_code
        known = self.codes.get(id(code))
        if known is None or known[0] is not code:
            known = self.codes[id(code)] = (code, code.co_code)
        at = frame.f_lasti
        return 0 <= at < len(known[1]) and known[1][at] in _ASKS

    def entered(self, code, frame, ours):
        """Tells of a function that a comparison calls; whether it is to be told of next time."""
        name = code.co_name
        if ours and (name in _NO_ANSWERS or code.co_flags & _GENERATES):
            return False
        known, times = self.met.get(id(code), (code, 0))
        times = times + 1 if known is code else 1
        self.met[id(code)] = (code, times)
        if times < 0 or times > _AT_FIRST and times % _RARELY:
            return times >= 0
        caller = frame.f_back
        if not self.is_call or caller is None or not self.is_comparison(caller) or len(self.comparisons) >= _MOST_VALUES:
            return True
        if ours:
            row = ["comparison " + _text(name), code.co_filename[len(self.root) :], code.co_firstlineno]
        else:
            module = frame.f_globals.get("__name__")
            if type(module) is not str:
                return True
            if module.split(".")[0] not in _MACHINERY + ("mock",) and not self.is_watched(caller.f_code):
                return True
            if code.co_filename[:1] == "<" and _file_of(module).startswith(self.root):
                # Made for a class of the repository, wherever that stands: what it looks at tells it.
                row = ["comparison %s of (%s)" % (_text(name), _fields(frame)), "", 0]
            else:
                row = ["comparison %s of %s" % (_text(name), _text(module)), _text(module), 0]
        if row not in self.comparisons:
            self.comparisons.append(row)
        self.met[id(code)] = (code, -(1 << 60))
        return False

    def passed(self, kind):
        """Tells of an exception that a watched function raises, or lets pass: somebody has to hear of it. Those
        that the state of the machine decides on do not count, but for those which the repository defines."""
        if not self.is_call:
            return
        kinds, module = _mro(kind), _type_module(kind)
        own = type(module) is str and _home_of(kind, self.root).startswith(self.root)
        if not own and (module in _WAITS or any([base in kinds for base in _VARYING])):
            return
        row = ["raised " + _text(_type_name(kind)), "", 0]
        if row not in self.failures and len(self.failures) < _MOST_VALUES:
            self.failures.append(row)

    def is_full(self):
        return len(self.values) >= _MOST_VALUES

    def value(self, value, caller, inside=0):
        if self.is_full():
            return
        kind = type(value)
        compares = 0
        where = ""
        for base in _mro(kind):
            held = _attributes(base)
            part = held.get("__eq__")
            if part is not None:
                module = held.get("__module__")
                if type(part) is _Function and part.__code__.co_filename.startswith(self.root):
                    compares, where = part.__code__.co_firstlineno, part.__code__.co_filename[len(self.root) :]
                elif type(part) is not _Slot and type(module) is str:
                    where = module
                break
        if where or not inside:
            self.values.append([_text(kind.__qualname__), where, compares])
        if kind in (list, tuple, set, frozenset, dict) and inside < _DEEP:
            parts = list(value.items()) if kind is dict else list(value)[:_MOST_PARTS]
            for part in parts[:_MOST_PARTS]:
                self.value(part, caller, inside + 1)


def _compares(field):
    """Whether a field of a data class is compared, without asking one that only looks like a field."""
    slot = _attributes(type(field)).get("compare")
    return slot.__get__(field) is not False if type(slot) is types.MemberDescriptorType else True


def _fields(frame):
    """The fields by which a data class compares."""
    code = frame.f_code
    value = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    for base in _mro(type(value)):
        fields = _attributes(base).get("__dataclass_fields__")
        if type(fields) is dict:
            return ", ".join([_text(name) for name, field in fields.items() if _compares(field)])
    return ""


class _Tracing(_Watch):
    """Below 3.12."""

    def __enter__(self):
        self.before = sys.gettrace()
        self.locals = {}
        sys.settrace(self.tracing())

    def __exit__(self, *_):
        sys.settrace(self.before)

    def tracing(self):
        """A function, whose insides the rules for texts refuse: a program may ask which one traces it."""
        watch = self

        def returned(frame, event, arg):
            if event == "return":
                watch.value(arg, frame.f_back)
            return returned

        def trace(frame, event, arg):
            code = frame.f_code
            ours = code.co_filename.startswith(watch.root)
            if ours or code.co_name in _ANSWERS:
                watch.entered(code, frame, ours)
            if not ours:
                return None
            kind = watch.kind(code)
            if kind == 1:
                watch.helps(code, frame)
            if kind:
                left, local = watch.local(code)
                if not left:
                    frame.f_trace_lines = False
                return local
            if watch.is_full():
                return None
            caller = frame.f_back
            if caller is not None and watch.is_watched(caller.f_code):
                frame.f_trace_lines = False
                return returned
            return None

        return trace

    def local(self, code):
        """The lines of a watched function that were not seen yet, and its local trace: reading a frame's code is
        an audited event, which a loop pays for on each line."""
        known = self.locals.get(id(code))
        if known is None:
            left, head = _lines(code), code.co_firstlineno

            def local(frame, event, arg):
                if event == "line":
                    line = frame.f_lineno
                    if line in left:
                        left.discard(line)
                        self.line(code, line)
                        if line != head:
                            left.discard(head)  # What is behind the head is told first, or there is nothing.
                    if not left:
                        frame.f_trace_lines = False
                elif event == "exception":
                    self.passed(arg[0])
                return local

            known = self.locals[id(code)] = (left, local)
        return known

class _Monitoring(_Watch):
    """From 3.12 on."""

    def __enter__(self):
        monitoring = self.monitoring = sys.monitoring
        events = monitoring.events
        self.tool = next(tool for tool in (4, 3, 2, 0, 1, 5) if monitoring.get_tool(tool) is None)
        monitoring.use_tool_id(self.tool, "witness")
        monitoring.register_callback(self.tool, events.PY_START, self.start)
        monitoring.register_callback(self.tool, events.LINE, self.at_line)
        monitoring.register_callback(self.tool, events.PY_RETURN, self.returned)
        monitoring.register_callback(self.tool, events.RAISE, self.raised)
        monitoring.set_events(self.tool, events.PY_START | events.RAISE)
        for code, kind in self.known.values():
            # A generator goes on that an earlier phase began.
            if kind:
                monitoring.set_local_events(self.tool, code, events.LINE)
        monitoring.restart_events()

    def __exit__(self, *_):
        monitoring = self.monitoring
        if monitoring.get_tool(self.tool) == "witness":
            monitoring.set_events(self.tool, 0)
            for code, watched in self.known.values():
                monitoring.set_local_events(self.tool, code, 0)
            events = monitoring.events
            for event in (events.PY_START, events.LINE, events.PY_RETURN, events.RAISE):
                monitoring.register_callback(self.tool, event, None)
            monitoring.free_tool_id(self.tool)

    def start(self, code, offset):
        ours = code.co_filename.startswith(self.root)
        if not ours and code.co_name not in _ANSWERS:
            return self.monitoring.DISABLE
        frame = _getframe(1)
        again = self.entered(code, frame, ours)
        if not ours:
            return None if again else self.monitoring.DISABLE
        events = self.monitoring.events
        kind = self.kind(code)
        if kind:
            self.monitoring.set_local_events(self.tool, code, events.LINE)
            if kind == 2:
                return self.monitoring.DISABLE
            self.helps(code, frame)
            return None
        caller = frame.f_back
        if caller is not None and self.is_watched(caller.f_code):
            self.monitoring.set_local_events(self.tool, code, events.PY_RETURN)
            if not again:
                return self.monitoring.DISABLE
        return None

    def at_line(self, code, line):
        if self.kind(code):
            self.line(code, line)
        return self.monitoring.DISABLE

    def raised(self, code, offset, exception):
        if self.kind(code):
            self.passed(type(exception))

    def returned(self, code, offset, value):
        caller = _getframe(1).f_back
        if caller is not None and self.is_watched(caller.f_code):
            self.value(value, caller)


def _watch():
    return _Monitoring if hasattr(sys, "monitoring") else _Tracing
