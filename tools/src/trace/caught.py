"""Notes the errors that one file raises, those included that its program catches; run by the launcher in the
tracer's place.

It notes errors that may name something missing, and asks nothing of objects of the program's own: an error's
arguments count where they are texts. What such an error asks for is for whoever reads the record to say.
"""

import json
import os
import sys
import threading

_KINDS = (AttributeError, ImportError, KeyError, ModuleNotFoundError, NameError, TypeError, UnboundLocalError)
_MOST = 200
_MAX_FRAMES = 20
_MAX_MESSAGE = 1000
_open, _write, _close, _getpid = os.open, os.write, os.close, os.getpid
_real, _settrace, _gettrace = os.path.realpath, sys.settrace, sys.gettrace
_dumps = json.JSONEncoder(ensure_ascii=True, check_circular=False).encode


class Listener:
    def __init__(self, settings):
        self.file = _real(settings["file"])
        self.results = settings["results"]
        self.own = {}  # co_filename -> whether that is the file
        self.noted = set()
        self.process = _getpid()

    def install(self):
        threading.settrace(self.trace)
        _settrace(self.trace)

    def trace(self, frame, event, arg):
        if not self.is_own(frame):
            return None
        frame.f_trace_lines = False
        return self.local

    def is_own(self, frame):
        name = frame.f_code.co_filename
        own = self.own.get(name)
        if own is None:
            own = self.own[name] = _real(name) == self.file
        return own

    def local(self, frame, event, arg):
        if event == "exception":
            kind, error, traceback = arg
            # By identity: a class of the program's may compare as it likes.
            if any(kind is one for one in _KINDS) and not self.is_from_below(traceback):
                self.note(kind, error, frame)
        return self.local

    def is_from_below(self, traceback):
        """Whether a frame of the file further in has seen it."""
        traceback = traceback.tb_next
        while traceback is not None:
            if self.is_own(traceback.tb_frame):
                return True
            traceback = traceback.tb_next
        return False

    def note(self, kind, error, frame):
        if any(type(part) is not str for part in error.args):
            return
        message = str(error)[:_MAX_MESSAGE]
        key = (kind, message, frame.f_lineno)
        if key in self.noted or len(self.noted) >= _MOST or _getpid() != self.process:
            return
        self.noted.add(key)
        frames = []
        while frame is not None and len(frames) < _MAX_FRAMES:
            code = frame.f_code
            if self.is_own(frame):
                frames.append([code.co_filename, frame.f_lineno or 0, code.co_name])
            frame = frame.f_back
        raised = {"kind": kind.__name__, "module": "builtins", "message": message, "frames": frames[::-1]}
        data = _dumps({"record": "caught", "raised": raised}).encode("ascii") + b"\n"
        descriptor = _open(self.results, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            while data:
                data = data[_write(descriptor, data) :]
        finally:
            _close(descriptor)

    # What the launcher tells a tracer.

    def begin_conftests(self):
        pass

    def begin_tests(self, items):
        pass

    def resume(self):
        # The program may have set its own, or have raised RecursionError inside of ours.
        if _gettrace() != self.trace:
            self.install()


def start(settings, is_child):
    listener = Listener(settings)
    listener.install()
    return listener
