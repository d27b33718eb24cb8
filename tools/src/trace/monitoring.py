"""From 3.12 on: `sys.monitoring`, whose events are switched off as they are seen.

It owns which events a code object reports; what is written of them, tracer.py says.
"""

_BRANCH_PATIENCE = 64


class Monitoring(Tracer):
    """From 3.12 on. Lines are watched in the repository's code only, each until it was seen."""

    kind = "monitoring"

    def install(self):
        monitoring = sys.monitoring
        events = monitoring.events
        tool = next(tool for tool in (4, 3, 2, 0, 1, 5) if monitoring.get_tool(tool) is None)
        monitoring.use_tool_id(tool, "gistify")
        self.tool = tool
        disable = monitoring.DISABLE
        tracer = self
        files = self.files
        classify = self.classify
        set_local = monitoring.set_local_events
        write = self.log.write
        branch_events = 0
        for name in ("BRANCH_LEFT", "BRANCH_RIGHT"):
            branch_events |= getattr(events, name, 0)
        both_at_once = not branch_events
        if both_at_once:
            branch_events = events.BRANCH
        in_function = events.LINE | branch_events
        in_module = in_function | events.PY_RETURN

        def on_start(code, offset):
            try:
                file = files[code.co_filename]
            except KeyError:
                file = classify(code)
            if file is None:
                if code.co_qualname == "ForwardRef.evaluate":
                    tracer.looked_up(_getframe(1))
                    return None
                return disable
            if file is False:
                tracer.generated(code, _getframe(1))
                return disable
            if code.co_name == "<module>":
                tracer.begin_module(file, _getframe(1))
                set_local(tool, code, in_module)
                return None
            tracer.function(file, code)
            set_local(tool, code, in_function)
            return disable

        def on_line(code, line):
            file = files[code.co_filename]
            lines = file.lines
            if line not in lines:
                lines.add(line)
                write(b"%s%d %d\n" % (b"L" if tracer.test else b"l", file.number, line))
            if code.co_name == "<module>":
                module = tracer.module_at(_getframe(1))
                if module is not None:
                    tracer.module_line(module, line)
                    return None
            return disable

        def on_return(code, offset, value):
            module = tracer.module_at(_getframe(1))
            if module is not None:
                tracer.end_module(module)

        def on_branch(code, offset, target):
            file = files[code.co_filename]
            known = file.codes.get(id(code))
            if known is None:
                if len(file.codes) >= _MANY:
                    file.codes.clear()  # A file that is executed over and over.
                known = file.codes[id(code)] = Branches(code)
            return None if known.took(file, write, offset, target, both_at_once) else disable

        callbacks = {
            events.PY_START: on_start,
            events.LINE: on_line,
            events.PY_RETURN: on_return,
        }
        if both_at_once:
            callbacks[events.BRANCH] = on_branch
        else:
            callbacks[events.BRANCH_LEFT] = callbacks[events.BRANCH_RIGHT] = on_branch
        for event, callback in callbacks.items():
            monitoring.register_callback(tool, event, callback)
        monitoring.set_events(tool, events.PY_START)

    def restart(self):
        sys.monitoring.restart_events()

    def stop(self):
        monitoring = sys.monitoring
        if monitoring.get_tool(self.tool) == "gistify":
            monitoring.set_events(self.tool, 0)


class Branches:
    """The conditions of a code object, by offset: the first target that each took."""

    __slots__ = ("code", "starts", "lines", "first", "patience")

    def __init__(self, code):
        self.code = code
        self.first, self.patience = {}, {}
        self.starts, self.lines = [], []
        for start, _, line in code.co_lines():
            self.starts.append(start)
            self.lines.append(line)

    def line(self, offset):
        at = bisect_right(self.starts, offset) - 1
        while 0 <= at < len(self.lines):
            if self.lines[at] is not None:
                return self.lines[at]
            at += 1
        return 0

    def took(self, file, write, offset, target, both_at_once):
        """Records a jump; whether the condition has to be watched any longer."""
        first = self.first.get(offset)
        if first is None:
            self.first[offset] = target
        elif first == target and both_at_once:
            # One event stands for both directions: a loop would pay for it for ever.
            self.patience[offset] = left = self.patience.get(offset, _BRANCH_PATIENCE) - 1
            if left == 0:
                other = self.other(offset, target)
                write(b"p%d %d %d\n" % (file.number, self.line(offset), self.line(other)))
            return left > 0
        write(b"b%d %d %d\n" % (file.number, self.line(offset), self.line(target)))
        return both_at_once and first is None

    def other(self, offset, target):
        """The target that a condition did not take so far."""
        for instruction in dis.get_instructions(self.code):
            if instruction.offset == offset:
                jump = instruction.argval
                return self.after(offset) if target == jump else jump
        return target

    def after(self, offset):
        offset += 2
        code = self.code.co_code
        while offset < len(code) and code[offset] == 0:
            offset += 2
        return offset
