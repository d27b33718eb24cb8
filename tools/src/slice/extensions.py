"""Imports compiled extensions where the Python modules of their packages are gone, and writes down what
they ask those modules for: a JSON pair of module and name a line, the name empty for the module itself.
"""

import importlib
import importlib.machinery
import json
import os
import sys
import types

EXTENSIONS, MODULES, ROOTS = json.loads(r'''@FACTS@''')

_log = open(os.environ["GISTIFY_PROBE"], "a")
_asked = set()


def _ask(module, name):
    if (module, name) not in _asked:
        _asked.add((module, name))
        _log.write(json.dumps([module, name]) + "\n")
        _log.flush()


class _Kind(type):
    """Of what stands for anything: it can be called, subclassed, asked for anything, and decorates."""

    def __getattr__(cls, name):
        if name[:2] == "__":
            raise AttributeError(name)
        return _anything(name)


def _anything(name):
    def init(self, *args, **kwargs):
        pass

    return _Kind(name, (), {"__init__": init, "__call__": lambda self, *args, **kwargs: self})


class _Module(types.ModuleType):
    def __getattr__(self, name):
        full = self.__name__ + "." + name
        if name[:2] == "__" or full in MODULES or full in EXTENSIONS:
            raise AttributeError(name)
        _ask(self.__name__, name)
        found = _anything(name)
        setattr(self, name, found)
        return found


class _Finder:
    """The last one: finds the modules that are gone."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in MODULES:
            return None
        return importlib.machinery.ModuleSpec(name, _Finder, is_package=True)

    @staticmethod
    def create_module(spec):
        _ask(spec.name, "")
        return _Module(spec.name)

    @staticmethod
    def exec_module(module):
        pass


def _packages():
    """Packages that are still there, as modules that say what they are asked for."""
    names = set()
    for extension in EXTENSIONS:
        package = extension.rpartition(".")[0]
        while package:
            names.add(package)
            package = package.rpartition(".")[0]
    for name in sorted(names):
        places = [os.path.join(entry, *name.split(".")) for entry in sys.path]
        module = _Module(name)
        module.__path__ = [place for place in places if os.path.isdir(place)]
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)


for _root in reversed(ROOTS):
    sys.path.insert(0, os.path.join(os.getcwd(), _root))
sys.meta_path.append(_Finder)
_packages()
for _name in EXTENSIONS:
    try:
        importlib.import_module(_name)
    except BaseException as error:  # The next one may still tell something.
        sys.stderr.write("%s: %s: %s\n" % (_name, type(error).__name__, error))
_log.flush()
os._exit(0)
