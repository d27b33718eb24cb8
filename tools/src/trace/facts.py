"""What the tracer asks of code objects, modules and classes; the first part of one embedded program,
which tracer.py goes on with. Everything here looks without running anything of what it looks at: types are
compared by identity, attributes read by the slots of `type`, nothing traced is hashed or printed."""

import _thread
import dis
import functools
import json
import mmap
import os
import posix
import re
import sys
import threading
import time
from bisect import bisect_right
from importlib.machinery import EXTENSION_SUFFIXES
from opcode import opmap
from types import CodeType, FunctionType, MethodType, ModuleType

# Bound here, so that a test that replaces them neither hears of the tracer nor misleads it.
_stat, _lstat, _readlink, _getcwd = posix.stat, posix.lstat, posix.readlink, posix.getcwd
_open, _read, _write, _close = posix.open, posix.read, posix.write, posix.close
_getpid, _getframe, _gettrace = posix.getpid, sys._getframe, sys.gettrace
_get_ident, _now, _mmap, _sleep = threading.get_ident, time.time_ns, mmap.mmap, time.sleep
_fsencode, _fsdecode = os.fsencode, os.fsdecode
_dumps = json.JSONEncoder(ensure_ascii=True, check_circular=False).encode
_get = dict.get

_MODULE_DICT = ModuleType.__dict__["__dict__"].__get__
_TYPE_DICT = type.__dict__["__dict__"].__get__
_TYPE_NAME = type.__dict__["__name__"].__get__
_TYPE_QUALNAME = type.__dict__["__qualname__"].__get__
_TYPE_MODULE = type.__dict__["__module__"].__get__
_TYPE_MRO = type.__dict__["__mro__"].__get__
_TYPE_ABSTRACT = type.__dict__["__abstractmethods__"].__get__
_CO_OPTIMIZED = 1
_CO_NESTED = 16
_EXTENDED_ARG, _IMPORT_NAME = opmap["EXTENDED_ARG"], opmap["IMPORT_NAME"]
_RESUME = opmap.get("RESUME")
_STDLIB = os.path.dirname(os.__file__) + "/"
_SITE = _STDLIB + "site-packages/"
_IMPORTS = ("<frozen importlib", _STDLIB + "importlib/")
_EXTENSIONS = tuple(EXTENSION_SUFFIXES)
_WORD = re.compile(r"[^\W\d]\w*")
# Longer constants and larger tables hold data, not code.
_MANY = 20000


def _is(mode, path, how=_stat):
    """Whether a path leads to something of this kind."""
    try:
        return how(path).st_mode & 0o170000 == mode
    except (OSError, ValueError):
        return False


def _is_file(path):
    return _is(0o100000, path)


def _real(path):
    """The path without links, as `os.path.realpath`, by the bound functions alone."""
    if path[:1] != "/":
        path = _getcwd() + "/" + path
    parts = path.split("/")[::-1]
    real, links = "", 0
    while parts:
        part = parts.pop()
        if part in ("", "."):
            continue
        if part == "..":
            real = real.rpartition("/")[0]
            continue
        deeper = real + "/" + part
        if links < 40 and _is(0o120000, deeper, _lstat):
            links += 1
            target = _readlink(deeper)
            if target[:1] == "/":
                real = ""
            parts.extend(target.split("/")[::-1])
        else:
            real = deeper
    return real or "/"


def _lines_of(code):
    """The lines of which a settrace will tell, or more: those after the code has begun."""
    if sys.version_info < (3, 10):
        return {line for _, line in dis.findlinestarts(code)}
    began = -1
    if _RESUME is not None:
        data = code.co_code
        began = next((at for at in range(0, len(data), 2) if data[at] == _RESUME), -1)
    return {line for _, end, line in code.co_lines() if line is not None and end > began + 2}


def _prefixes():
    """What the filenames of the interpreter and of installed packages begin with."""
    places = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    found = {"<frozen "}
    for place in places:
        for part in ("lib", "lib64", "bin"):
            found.add(os.path.join(place, part) + "/")
            found.add(os.path.join(_real(place), part) + "/")
    return tuple(sorted(found))


def _in_archive(path):
    while len(path) > 1:
        path = path.rpartition("/")[0]
        if _is(0o040000, path):
            return False
        if _is_file(path):
            return True
    return False


def _is_source_of(path, code):
    """Whether a file without the ending of Python's holds the names that its code mentions."""
    try:
        descriptor = _open(path, os.O_RDONLY)
        try:
            text = _read(descriptor, 1 << 22)
        finally:
            _close(descriptor)
    except OSError:
        return False
    words = set(_WORD.findall(text.decode("utf-8", "replace")))
    names = set()
    _mentions(code, "", names, set(), strings=False)
    return all(name in words for name in names if name.isidentifier())


def _mentions(code, package, names, imports, strings=True):
    pending = [code]
    while pending:
        code = pending.pop()
        names.update(code.co_names)
        fromlists = set()
        for constant in code.co_consts:
            if type(constant) is tuple:
                constants = [value for value in constant if type(value) is str]
                fromlists.update(constants)
            else:
                constants = [constant]
            for value in constants:
                if type(value) is CodeType:
                    pending.append(value)
                elif strings and type(value) is str and len(value) <= _MANY:
                    names.update(_WORD.findall(value))
        for name in _imported(code):
            found = [name] + [name + "." + value for value in fromlists]
            imports.update(found)
            if package:
                imports.update([package + "." + value for value in found])
            for at, letter in enumerate(name):
                if letter == ".":
                    imports.add(name[:at])


def _imported(code):
    data, names, extended = code.co_code, code.co_names, 0
    for at in range(0, len(data), 2):
        opcode, argument = data[at], data[at + 1] | extended
        extended = argument << 8 if opcode == _EXTENDED_ARG else 0
        if opcode == _IMPORT_NAME and argument < len(names):
            yield names[argument]


def _is_import(frame, path, is_open):
    """Whether a file was read, or a directory listed, only to import or to show code."""
    while frame is not None:
        filename = frame.f_code.co_filename
        if filename.startswith("<frozen "):
            if filename.startswith(("<frozen zipimport", "<frozen runpy")):
                return True
            if filename.startswith("<frozen importlib"):
                # `get_data` of a loader reads other files for whoever asks.
                return path.endswith(".py") or not is_open
        elif filename.endswith(_SHOWS_CODE if is_open else _LISTS_MODULES):
            return True
        elif not is_open and "/_pytest/" in filename:
            return True  # Collection.
        elif not is_open and "/site-packages/py/" in filename:
            pass  # Which pytest 6 lists through.
        elif not filename.startswith(_STDLIB) or filename.startswith(_SITE):
            return filename.endswith("/launch.py")
        frame = frame.f_back
    return False


_SHOWS_CODE = ("/_pytest/assertion/rewrite.py", "/linecache.py", "/runpy.py")
_LISTS_MODULES = ("/importlib/metadata/__init__.py", "/importlib/metadata.py")


def _fixtures(tracer, items):
    found = set()
    for item in items:
        info = getattr(item, "_fixtureinfo", None)
        definitions = getattr(info, "name2fixturedefs", None) or {}
        for name, stack in definitions.items():
            # The last definition is the one in force; it may ask for the one that it overrides.
            for definition in reversed(stack):
                code = _code_of(definition.func)
                if code is not None:
                    path = tracer.relative(_real(code.co_filename))
                    if path is not None:
                        found.add((name, path, code.co_firstlineno))
                if name not in getattr(definition, "argnames", ()):
                    break
    return sorted(found)


def _roots_of(tracer, items):
    """Where the names of test modules lead from: pytest may import them without `sys.path`."""
    found = []
    for module in {id(module): module for module in (getattr(item, "module", None) for item in items)}.values():
        if module is None or not issubclass(type(module), ModuleType):
            continue
        held = _MODULE_DICT(module)
        name, file = held.get("__name__"), held.get("__file__")
        path = tracer.relative(_real(file)) if type(file) is str else None
        if path is None or type(name) is not str or "." not in name:
            continue
        tail = name.replace(".", "/") + ".py"
        if path == tail or path.endswith("/" + tail):
            root = path[: -len(tail)].rstrip("/")
            if root not in found:
                found.append(root)
    return found


def _code_of(function):
    for _ in range(100):
        kind = type(function)
        if kind is MethodType:
            function = function.__func__
        elif kind is functools.partial:
            function = function.func
        elif kind is FunctionType and "__wrapped__" in function.__dict__:
            function = function.__dict__["__wrapped__"]
        else:
            break
    return function.__code__ if type(function) is FunctionType else None


def _snapshot(tracer):
    modules, compiled, external = {}, {}, {}
    for name, module in list(sys.modules.items()):
        if type(name) is not str or not issubclass(type(module), ModuleType):
            continue
        held = _MODULE_DICT(module)
        if type(held) is not dict:
            continue
        file = held.get("__file__")
        if type(file) is str:
            path = tracer.relative(_real(file))
            if path is None:
                external[name] = _clean(os.path.abspath(file))
            elif file.endswith(_EXTENSIONS):
                compiled[name] = _clean(path)
            else:
                modules[name] = {"path": _clean(path), "names": _values(held)}
        elif held.get("__spec__") is not None:
            portions = held.get("__path__")
            if type(portions) is not list:
                portions = getattr(portions, "_path", None) if _is_namespace(portions) else None
            inside = [
                entry
                for entry in (portions if type(portions) is list else ())
                if type(entry) is str and tracer.relative(_real(entry)) is not None
            ]
            if inside:
                modules[name] = {"path": "", "names": _values(held)}
            else:
                external[name] = ""
    return {
        "modules": modules,
        "compiled": compiled,
        "external": external,
        "abstract_overrides": _overrides(modules),
        "fixtures": [{"name": n, "path": _clean(p), "line": l} for n, p, l in tracer.fixtures],
        "roots": [_clean(root) for root in tracer.roots + _late_roots(tracer)],
    }


def _late_roots(tracer):
    """What a program without phases added to `sys.path` itself, or all that is there where no test began."""
    if tracer.roots and tracer.phases:
        return []
    return [root for root in tracer.current_roots() if root not in tracer.roots]


def _is_namespace(value):
    return type(value) is not type(None) and _TYPE_NAME(type(value)) == "_NamespacePath"


def _values(held):
    return {_clean(key): _value(value) for key, value in list(held.items()) if type(key) is str}


def _value(value):
    kind = type(value)
    if kind is FunctionType:
        return {"function": [_string(value.__module__), _string(value.__qualname__)]}
    if issubclass(kind, type):
        return {"class": [_string(_module_of(value)), _string(_TYPE_QUALNAME(value))]}
    if issubclass(kind, ModuleType):
        held = _MODULE_DICT(value)
        return {"module": _string(held.get("__name__")) if type(held) is dict else ""}
    return {"other": _string(_TYPE_NAME(kind))}


def _overrides(modules):
    found = {}
    pending, seen = [object], {id(object)}
    while pending:
        for kind in type.__subclasses__(pending.pop()):
            if id(kind) in seen:
                continue
            seen.add(id(kind))
            pending.append(kind)
            module = _module_of(kind)
            if type(module) is str and module in modules:
                names = _overridden(kind)
                if names:
                    found["%s:%s" % (_clean(module), _string(_TYPE_QUALNAME(kind)))] = names
    return found


def _overridden(kind):
    names = set()
    own = _TYPE_DICT(kind)
    for base in _TYPE_MRO(kind)[1:]:
        try:
            abstract = _TYPE_ABSTRACT(base)
        except AttributeError:
            continue
        if type(abstract) in (frozenset, set, tuple, list):
            names.update([name for name in abstract if type(name) is str and name in own])
    return sorted(names)


def _module_of(kind):
    try:
        return _TYPE_MODULE(kind)
    except AttributeError:
        return None


def _string(value):
    return _clean(value) if type(value) is str else ""


def _clean(text):
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
