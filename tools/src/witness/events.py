"""Audited events, and the parts of the library that cause them for reasons of their own; the fifth part of one
embedded program, witness.py is the last."""

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
}
# Events that count wherever on its way a line of the repository asked for them.
_INDIRECT = {
    "pickle.find_class": "code",
    "os.exec": "process",
    "os.fork": "process",
    "os.forkpty": "process",
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
# Those by which an object leads to the machinery around it.
_LEADS = {
    "tb_frame", "f_code", "gi_frame", "gi_code", "cr_frame", "cr_code", "ag_frame", "ag_code", "__code__",
}
# Parts of the library that look at frames for reasons of their own, and those that make code for their users.
_LOOKS_AT_FRAMES = ("traceback", "logging", "contextlib", "warnings", "unittest", "asyncio", "threading", "_pytest")
_MAKES_CODE = ("dataclasses", "collections", "enum", "importlib", "_frozen_importlib", "_frozen_importlib_external")
_LOADS_CODE = ("_pytest", "zipimport", "pkgutil", "runpy", "types")
_PLACES = {"open", "os.listdir", "os.scandir", "os.remove", "os.rename", "os.truncate", "os.link", "os.symlink"}
# Parts of the standard library that run text which they are given.
_RUNS_TEXT = ("timeit", "code", "codeop", "runpy", "pdb", "bdb", "profile", "cProfile", "trace", "doctest")
_MACHINERY = ("pytest", "_pytest", "pluggy", "unittest", "builtins")
# Where any program can write, beside its own directories.
_WRITABLE = ("/tmp/", "/var/tmp/", "/dev/shm/", "/run/")
