"""Gives the original tests a gist wherever they ask for a module of the repository.

A module of the repository is an object that answers from the gist's global names, by a table that was made outside of
this process. It reads and writes them as they are at that moment, so that what a test patches is what the gist's code
finds. Where the gist has an object in the place of a module, its attributes come first: the gist's code reads these,
and a global of the same name may be what another module imported by value. Nothing here decides on a verdict.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

GIST = "concise"
HIDDEN = {"_table_", "_entry_", "_deleted_"}
_real_dict: Any = vars(types.ModuleType)["__dict__"]


class Table:
    """The modules of the repository, and the gist that has their names."""

    def __init__(self, spec: dict[str, Any], root: str) -> None:
        self.path = os.path.join(root, spec["gist"])
        self.root = root
        self.modules = {name: Entry(name, entry, root) for name, entry in spec["modules"].items()}
        self.made: dict[str, Linked] = {}
        self.gist: types.ModuleType | None = None

    def load(self) -> types.ModuleType:
        """Runs the gist, once. What it registers as modules of the repository gives way to ours."""
        if self.gist is None:
            spec = importlib.util.spec_from_file_location(GIST, self.path)
            assert spec is not None and spec.loader is not None
            gist = self.gist = importlib.util.module_from_spec(spec)
            sys.modules[GIST] = gist
            try:
                spec.loader.exec_module(gist)
            except BaseException:
                self.gist = None
                del sys.modules[GIST]
                raise
            finally:
                self._take_back()
        return self.gist

    def _take_back(self) -> None:
        for name in self.modules:
            if name in sys.modules and not isinstance(sys.modules[name], Linked):
                sys.modules[name] = importlib.util.module_from_spec(self.spec(name))

    def spec(self, name: str) -> importlib.machinery.ModuleSpec:
        """Returns what the import system needs to make a module of the table: its loader, file and directories."""
        entry = self.modules[name]
        is_package = entry.directories is not None
        spec = importlib.machinery.ModuleSpec(name, Loader(self, name), origin=entry.file, is_package=is_package)
        if is_package:
            spec.submodule_search_locations = list(entry.directories or ())
        spec.has_location = entry.file is not None
        return spec

    def module(self, name: str) -> Linked:
        """Returns the object of a module, made on first use; the import system gives it `__path__` and the like."""
        module = self.made.get(name)
        if module is None:
            module = self.made[name] = Linked(name)
            own = _real_dict.__get__(module)
            own["_table_"] = self
            own["_entry_"] = self.modules[name]
            own["_deleted_"] = set()
        return module


class Entry:
    """One module of the repository: its place, and the names of the gist that its own stand for."""

    def __init__(self, name: str, spec: dict[str, Any], root: str) -> None:
        self.name = name
        self.file: str | None = os.path.join(root, spec["path"]) if spec["path"] else None
        self.directories: list[str] | None = None
        if spec["directories"] is not None:
            self.directories = [os.path.join(root, one) for one in spec["directories"]]
        # Name in the module to names in the gist; the first is read, all are written.
        self.names: dict[str, list[str]] = spec["names"]
        # Names of other modules of the repository, and of what comes from outside.
        self.internal: dict[str, str] = spec["internal"]
        self.outside: dict[str, Sequence[str | None]] = spec["outside"]
        self.stars: list[str] | None = spec["stars"]
        # The gist's own object in the place of this module.
        self.object: str | None = spec["object"]


class Linked(types.ModuleType):
    """A module of the repository whose globals are the gist's."""

    _table_: Table
    _entry_: Entry
    # Names that a test deleted from the gist's object in the place of this module.
    _deleted_: set[str]

    def __getattr__(self, name: str) -> Any:
        own = _real_dict.__get__(self)
        if "_entry_" not in own:
            raise AttributeError(name)
        table, entry = own["_table_"], own["_entry_"]
        gist = table.load() if table.gist is None else table.gist
        held = vars(gist)
        for found in self._objects_(gist):
            if name in vars(found):
                return vars(found)[name]
        for flat in () if name in own["_deleted_"] else entry.names.get(name, ()):
            if flat in held:
                return held[flat]
        if name in entry.internal:
            return importlib.import_module(entry.internal[name])
        if name in entry.outside:
            module, attribute = entry.outside[name]
            assert module is not None
            found = importlib.import_module(module)
            return found if attribute is None else getattr(found, attribute)
        if name == "__all__" and entry.stars is not None:
            return [star for star in entry.stars if star in self._names_()]
        answer = entry.names.get("__getattr__", ())
        if name not in ("__path__", "__all__") and answer and answer[0] in held:
            return held[answer[0]](name)
        raise AttributeError(f"module {entry.name!r} has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        own = _real_dict.__get__(self)
        entry = own.get("_entry_")
        if entry is None or isinstance(value, Linked) or name.startswith("__") and name not in entry.names:
            # The import system sets submodules and its own attributes.
            if entry is None or name not in entry.names:
                own[name] = value
            return
        gist = own["_table_"].load()
        flats = entry.names.get(name)
        if flats is None:
            own[name] = value
            return
        own["_deleted_"].discard(name)
        objects = list(self._objects_(gist))
        if not any(name in vars(held) for held in objects):
            for flat in flats:
                setattr(gist, flat, value)
        for held in objects:
            setattr(held, name, value)

    def __delattr__(self, name: str) -> None:
        own = _real_dict.__get__(self)
        entry = own["_entry_"]
        if name in own:
            del own[name]
            return
        gist = own["_table_"].load()
        held = [one for one in self._objects_(gist) if name in vars(one)]
        for one in held:
            del vars(one)[name]
            own["_deleted_"].add(name)
        flats = [] if held else [flat for flat in entry.names.get(name, ()) if hasattr(gist, flat)]
        for flat in flats:
            del vars(gist)[flat]
        if not held and not flats:
            raise AttributeError(name)

    def __dir__(self) -> list[str]:
        return sorted(set(_real_dict.__get__(self)) - HIDDEN | set(self._names_()))

    def __reduce__(self) -> Any:
        return importlib.import_module, (self.__name__,)

    def _objects_(self, gist: types.ModuleType) -> Iterator[types.ModuleType]:
        name = _real_dict.__get__(self)["_entry_"].object
        held = vars(gist).get(name)
        if isinstance(held, types.ModuleType) and held is not gist:
            yield held

    def _names_(self) -> list[str]:
        own = _real_dict.__get__(self)
        entry, held = own["_entry_"], vars(own["_table_"].load())
        names = [name for name, flats in entry.names.items() if any(flat in held for flat in flats)]
        return names + [name for name in (*entry.internal, *entry.outside) if name not in entry.names]

    @property
    def __dict__(self) -> Namespace:  # type: ignore[override]
        return Namespace(self)


class Namespace(dict):  # type: ignore[type-arg]
    """The globals of a linked module as `vars` and `patch` ask for them; what is written reaches the gist."""

    def __init__(self, module: Linked) -> None:
        own = _real_dict.__get__(module)
        known = {name: value for name, value in own.items() if name not in HIDDEN}
        if "_entry_" in own:
            for name in module._names_():
                try:
                    known.setdefault(name, getattr(module, name))
                except (AttributeError, ImportError):
                    pass
        super().__init__(known)
        self._module = module

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        setattr(self._module, name, value)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        delattr(self._module, name)

    def update(self, *args: Any, **named: Any) -> None:
        for name, value in dict(*args, **named).items():
            self[name] = value

    def setdefault(self, name: str, value: Any = None) -> Any:
        if name not in self:
            self[name] = value
        return self[name]

    def pop(self, name: str, *default: Any) -> Any:
        if name not in self and default:
            return default[0]
        value = self[name]
        del self[name]
        return value


class Loader(importlib.machinery.SourceFileLoader):
    """Gives the object of a module; data beside its file are read as ever."""

    def __init__(self, table: Table, name: str) -> None:
        super().__init__(name, table.modules[name].file or "")
        self._table = table

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return self._table.module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        self._table.load()

    def get_code(self, fullname: str) -> Any:
        return None

    def get_source(self, fullname: str) -> Any:
        return None

    def is_package(self, fullname: str) -> bool:
        return self._table.modules[fullname].directories is not None


class Finder:
    """Finds the modules of the table before everything else does; `held_back` are packages that pytest needs first."""

    def __init__(self, table: Table, held_back: Sequence[str]) -> None:
        self._table = table
        self.held_back = frozenset(held_back)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self._table.modules or name.partition(".")[0] in self.held_back:
            return None
        return self._table.spec(name)

    def release(self) -> None:
        """Ends the holding back: pytest has what it needs, and a finder of its own in front of this one."""
        self.held_back = frozenset()
        sys.meta_path.remove(self)
        sys.meta_path.insert(0, self)


def install(spec: dict[str, Any], root: str, absent: Sequence[str]) -> Finder:
    """Puts a finder for the modules of a repository first."""
    root = os.path.realpath(root)
    outside = [path for path in sys.path if not _is_below(path, root)]

    def is_there(top: str) -> bool:
        return importlib.machinery.PathFinder.find_spec(top, outside) is not None

    finder = Finder(Table(spec, root), [top for top in absent if is_there(top)])
    sys.meta_path.insert(0, finder)
    return finder


def _is_below(path: str, root: str) -> bool:
    path = os.path.realpath(path or ".")
    return path == root or path.startswith(root + os.sep)
