"""What a case is given and finds by its names; the third part of one embedded program, witness.py is the last.
Nothing of what is looked at runs: plain values become texts, all else is told by where it is from."""

import builtins
import opcode
import sys
import types

_live_builtins = vars(builtins)
_Builtins = dict(_live_builtins)
_BUILT_IN = frozenset(sys.builtin_module_names)
_MOST_INSIDE = 20
_MOST_ROWS = 1000
_PLAIN = (int, float, complex, bool, str, bytes, type(None))
_WRITTEN = {"builtins": ("range",), "re": ("Pattern",), "decimal": ("Decimal",), "datetime": ("date", "timedelta")}
_MOST_BITS = 4000  # Python refuses to write longer numbers.
_get = dict.get
_GetSet = type(_Function.__dict__["__code__"])
_type_module = type.__dict__["__module__"].__get__
_type_name = type.__dict__["__qualname__"].__get__
_EXTENDED = opcode.opmap["EXTENDED_ARG"]
# Operations that ask for a name, and how far their argument has to be shifted to be an index of names.
_GLOBALS = {opcode.opmap["LOAD_GLOBAL"]: int(sys.version_info >= (3, 11)), opcode.opmap["LOAD_NAME"]: 0}
_PARTS = {opcode.opmap["LOAD_ATTR"]: int(sys.version_info >= (3, 12))}
if "LOAD_METHOD" in opcode.opmap and sys.version_info < (3, 12):
    _PARTS[opcode.opmap["LOAD_METHOD"]] = 0
# What may stand between two names of one chain.
_SILENT = (_EXTENDED, opcode.opmap.get("CACHE", _EXTENDED))


def _given(item, root):
    """What kind of case one is, and its parameters, as texts: plain values, and the types of all others. Those of
    a docstring are its examples."""
    params = getattr(getattr(item, "callspec", None), "params", None) or {}
    given = [["parameter " + _text(name), _text(_told(value, 0))[:2000]] for name, value in sorted(params.items())]
    return [["kind", _text(_type_name(type(item)))]] + given + _said(_examples(item), root)


def _told(value, inside):
    kind = type(value)
    if kind is int and value.bit_length() > _MOST_BITS:
        return "a number of %d bits" % value.bit_length()
    if kind in (str, bytes):
        value = value[:200]
    if kind in _PLAIN:
        return repr(value)[:200]
    if kind in (list, tuple) and inside < _DEEP:
        return "%s(%s)" % (kind.__name__, ", ".join([_told(part, inside + 1) for part in value[:_MOST_PARTS]]))
    if kind is dict and inside < _DEEP:
        return _told(list(value.items()), inside + 1)
    if kind in (set, frozenset) and inside < _DEEP and len(value) <= _MOST_PARTS:
        return "%s(%s)" % (kind.__name__, ", ".join(sorted([_told(part, inside + 1) for part in value])))
    return repr(value)[:200] if _is_written(kind) else _type_name(kind)


def _is_written(kind):
    """Whether values of a type of Python's own are told by what Python writes for them."""
    module, name = _type_module(kind), _type_name(kind)
    if type(module) is not str or name not in _WRITTEN.get(module, ()):
        return False
    return _get(_module_dict(sys.modules.get(module)) or {}, name) is kind


def _is_told(value):
    kind = type(value)
    return kind in _PLAIN or kind in (list, tuple, dict, set, frozenset) or _is_written(kind)


def _asked(code):
    """The names that code finds among its globals, those of attributes, and the chains of attributes that begin
    with a global: ("a", "b"), ("a", "b", "c")."""
    raw, names, extended = code.co_code, code.co_names, 0
    globals_, parts, chains, chain = [], [], [], ()
    for at in range(0, len(raw), 2):
        operation, argument = raw[at], raw[at + 1] | extended
        extended = argument << 8 if operation == _EXTENDED else 0
        if operation in _GLOBALS:
            chain = (names[argument >> _GLOBALS[operation]],)
            globals_ += chain
        elif operation in _PARTS:
            parts.append(names[argument >> _PARTS[operation]])
            if chain:
                chain += (parts[-1],)
                chains.append(chain)
        elif operation not in _SILENT:
            chain = ()
    return globals_, parts, chains


def _file_of(name):
    """The file of a module that is loaded, by its name."""
    module = sys.modules.get(name) if type(name) is str else None
    file = _module_dict(module).get("__file__") if issubclass(type(module), types.ModuleType) else None
    return file if type(file) is str else ""


def _home_of(kind, root):
    """The file of a class. It says itself of which module it is, and is believed where that is one of the repository;
    else its functions tell better, and one of a module that is not there, or was made, is of the repository."""
    module = _type_module(kind)
    path = _file_of(module)
    if path.startswith(root):
        return path
    for value in list(_attributes(kind).values()):
        if type(value) in (staticmethod, classmethod):
            value = value.__func__
        if type(value) is _Function and value.__code__.co_filename.startswith(root):
            return value.__code__.co_filename
    held = sys.modules.get(module) if type(module) is str else None
    made = type(held) is types.ModuleType and not path and module not in _BUILT_IN
    return root if held is None or made else path


class _Found:
    """Rows of what a case finds: key, what it is, path and line where it is of the repository."""

    def __init__(self, root, library):
        self.root, self.library, self.rows = root, library, []
        self.reached, self.looked = set(), set()

    def add(self, key, what, path="", line=0):
        self.rows.append([_text(key), _text(what)[:2000], _text(path), line])

    def thing(self, key, value):
        """Adds a row for a value; the function that it is, where it is one of the repository."""
        try:
            return self.known(key, value)
        except Exception:
            self.add(key, "object")  # It is odd in some way.
            return None

    def named(self, name, value, parts, where):
        """Adds what a name stands for, and of a module outside the attributes that are asked for beside it; the
        function that it is."""
        function = self.thing(name + where, value)
        if self.rows[-1][1].startswith("module "):
            held = _module_dict(value)
            for attribute in dict.fromkeys(parts):
                if attribute in held:
                    self.thing("%s.%s%s" % (name, attribute, where), held[attribute])
        return function

    def known(self, key, value):
        kind = type(value)
        if kind is types.MethodType:
            value = value.__func__
            kind = type(value)
        if kind is _Function:
            code = value.__code__
            if code.co_filename.startswith(self.root):
                self.add(key, "function", code.co_filename[len(self.root) :], code.co_firstlineno)
                return value
            # Code made from text while it ran: its file has a made-up name, which may be counted, as its own.
            home = _get(value.__globals__, "__file__")
            if code.co_filename[:1] != "/" and type(home) is str and home.startswith(self.root):
                self.add(key, "made " + _uncounted(code.co_name), home[len(self.root) :])
                return None
            # What wraps a function has its name; where it was defined tells them apart.
            module = _get(value.__globals__, "__name__")
            self.add(key, ("outside %s/%s" % (module, code.co_name)).replace(".", "/"))
        elif issubclass(kind, type):
            path = _home_of(value, self.root)
            if path.startswith(self.root):
                self.add(key, "class " + _type_name(value), path[len(self.root) :])
            else:
                self.add(key, _from("type", _type_module(value), _type_name(value)))
        elif kind is types.BuiltinFunctionType:
            self.add(key, _from("builtin", value.__module__, value.__qualname__))
        elif issubclass(kind, types.ModuleType):
            name, path = self.module(value)
            self.add(key, name, path or "")
        elif _is_told(value):
            self.add(key, _told(value, 0))
            if kind not in _PLAIN:
                self.insides(key, value, 0)
        else:
            self.add(key, "object")
        return None

    def module(self, value):
        """What a module is, and its path where that is of the repository: one that is neither outside nor
        Python's own is called so whoever made it."""
        held = _module_dict(value) or {}
        file, name = held.get("__file__"), held.get("__name__")
        outside = type(name) is str and sys.modules.get(name) is value and name not in ("__main__", "builtins")
        if outside and type(file) is str and not file.startswith(self.root):
            return "module " + name.replace(".", "/"), None
        if type(value) is not types.ModuleType or type(name) is not str or name in _BUILT_IN:
            return "object", None
        return "own module", file[len(self.root) :] if type(file) is str and file.startswith(self.root) else ""

    def behind(self, chain, where, names):
        """Adds what a chain of names leads to, where all before its last are modules of the repository; the
        function that it is."""
        value, path, held = _get(names, chain[0]), None, {}
        for part in chain[1:]:
            if not issubclass(type(value), types.ModuleType) or self.module(value)[0] != "own module":
                return None
            path, held = self.module(value)[1], _module_dict(value)
            value = _get(held, part, _get)
        key, last = chain[-1] + " of " + "/".join(chain[:-1]) + where, chain[-1]
        if key in self.reached or last[:2] == last[-2:] == "__" or ("/" + path).endswith(self.library):
            return None
        self.reached.add(key)
        if value is not _get:
            # Values may differ between runs, or be paths.
            return None if _is_told(value) else self.thing(key, value)
        if "__getattr__" in held:
            self.add(key, "object")
        return None

    def table(self, names_of):
        """A table of names with the built-in ones, where it has some of its own."""
        own = _get(names_of, "__builtins__")
        own = _module_dict(own) if issubclass(type(own), types.ModuleType) else own
        if type(own) is not dict or own is _live_builtins:
            return names_of
        for name in dict.keys(own) - dict.keys(_live_builtins):
            self.add("shadow %s" % name, "object")
        return {**own, **names_of}

    def asked(self, codes, names_of, where, is_near=True):
        """Adds what code, and code in it, finds by the names that it asks for; the functions that those are."""
        told, functions = set(), []
        for code in codes:
            if code in self.looked:
                continue
            self.looked.add(code)
            codes += [part for part in code.co_consts if type(part) is _Code]
            names, parts, chains = _asked(code)
            for name in names:
                if name not in names_of or name in told:
                    continue
                told.add(name)
                value = names_of[name]
                # What other files hold may change as long as it can.
                if not is_near and _is_told(value):
                    continue
                functions.append(self.named(name, value, parts, where))
                if not where and name in _Builtins and value is not _Builtins[name]:
                    self.add("shadow " + name, "object")
            functions += [self.behind(chain, where, names_of) for chain in chains]
        return functions

    def insides(self, key, value, deep):
        """Adds what tables, sets and objects of the repository hold that is plain."""
        kind = type(value)
        if deep > _DEEP or len(self.rows) >= _MOST_ROWS + _MOST_VALUES:
            return
        if kind in (set, frozenset):
            if len(value) <= _MOST_PARTS:
                self.add(key, "set(%s)" % ", ".join(sorted([_told(part, 0) for part in value])))
        elif kind in (list, tuple):
            for at, part in enumerate(value[:_MOST_INSIDE]):
                self.insides("%s[%d]" % (key, at), part, deep + 1)
        elif kind is dict:
            for at, part in enumerate(list(value.items())[:_MOST_INSIDE]):
                self.insides("%s[%d]" % (key, at), part, deep + 1)
        elif kind not in _PLAIN:
            if _home_of(kind, self.root).startswith(self.root):
                for name, part in sorted(_held(value).items(), key=lambda pair: str(pair[0])):
                    if type(name) is str and name[:1] != "_":
                        inner = "%s.%s" % (key, name)
                        if type(part) in _PLAIN:
                            self.add(inner, _told(part, 0))
                        else:
                            self.insides(inner, part, deep + 1)


def _uncounted(name):
    return "".join([part for part in name if part not in "0123456789"])


def _from(what, *parts):
    """Where something outside is from; it has no dots, as numbers that vary have."""
    return what + " " + "/".join([part for part in parts if type(part) is str]).replace(".", "/")


def _held(value):
    """The attributes of an object that keeps them as objects do."""
    for base in _mro(type(value)):
        part = _attributes(base).get("__dict__")
        if part is not None:
            return part.__get__(value) if type(part) is _GetSet else {}
    return {}


def _used(item, root, library):
    """What a test finds by its names and by modules of the repository, through functions of its own file and of
    others that are no `library` (ends of paths) as well; what runs as the test, its fixtures, and its parameters."""
    found = _Found(root, library)
    if getattr(item, "dtest", None) is not None:
        _named(item, found)
        return found.rows
    function = getattr(item, "function", None)
    met = []
    while type(function) is not _Function:
        met.append(function)
        function = getattr(function, "__func__", None) or getattr(function, "__wrapped__", None)
        if function is None or any([function is one for one in met]):
            return found.rows
    found.thing("what runs", getattr(item, "obj", None))
    while type(getattr(function, "__wrapped__", None)) is _Function and len(met) < _MOST_INSIDE:
        met.append(function)
        function = function.__wrapped__
    pending = [function]

    def follow(inner):
        file = inner.__code__.co_filename if inner is not None else ""
        if file == function.__code__.co_filename or file and not file.endswith(library):
            pending.append(inner)

    while pending and len(found.rows) < _MOST_ROWS:
        current = pending.pop(0)
        code, names_of = current.__code__, found.table(current.__globals__)
        where = "" if current is function else " in " + code.co_name
        is_near = code.co_filename == function.__code__.co_filename
        for inner in found.asked([code], names_of, where, is_near):
            follow(inner)
    for kind in _mro(item.cls) if isinstance(getattr(item, "cls", None), type) else ():
        own = _home_of(kind, root).startswith(root)
        for name, value in list(_attributes(kind).items()):
            if type(value) in (staticmethod, classmethod):
                value = value.__func__
            if type(value) is _Function and value.__code__.co_filename.startswith(root):
                found.thing("%s.%s" % (_type_name(kind), name), value)
            elif own:
                found.add("part %s.%s" % (_type_name(kind), name), "object")
    fixtures = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", None) or {}
    for name, definitions in sorted(fixtures.items()):
        if definitions:
            # Those of classes and modules have their names in theirs.
            short = name.partition("fixture")[0] if name[:1] == "_" else name
            found.thing("fixture " + short, getattr(definitions[-1], "func", None))
    params = getattr(getattr(item, "callspec", None), "params", None) or {}
    for name, value in sorted(params.items()):
        found.insides("parameter " + name, value, 0)
    return found.rows
