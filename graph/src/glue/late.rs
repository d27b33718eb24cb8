//! The class by which a block of a gist is run as a module at its first import.

/// The name of the class.
pub(super) const LATE: &str = "_Late";

/// The class. The head of a block makes an instance, which is false, so that the block is skipped. The instance is the
/// finder and loader of the module: it executes the block in the gist's globals and registers the gist under the module's
/// name. A parent package that nothing loaded becomes a module object that reads missing attributes from the gist.
pub(super) const LATE_MODULES: &str = "\
class _Late(str):
    def __bool__(self):
        import ast, pathlib
        tree = ast.parse(pathlib.Path(__file__).read_bytes())
        heads = {ast.unparse(one.test): one for one in tree.body if isinstance(one, ast.If)}
        tree.body = heads[f\"_Late({str(self)!r})\"].body
        self.block = compile(tree, __file__, \"exec\")
        sys.meta_path.insert(0, self)
        above = self.rpartition(\".\")[0]
        while above:
            held = sys.modules.get(above)
            if held is None:
                held = sys.modules[above] = types.ModuleType(above)
                held.__getattr__ = lambda name, above=above: _Late.given(above, name)
            vars(held).setdefault(\"__path__\", [])
            above = above.rpartition(\".\")[0]
        return False
    def given(self, name):
        if f\"{self}.{name}\" in sys.meta_path:
            raise AttributeError(name)
        return getattr(sys.modules[__name__], name)
    def find_spec(self, name, path=None, target=None):
        import importlib.machinery
        return importlib.machinery.ModuleSpec(name, self) if name == self else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        sys.modules[self] = sys.modules[__name__]
        exec(self.block, globals())
";
