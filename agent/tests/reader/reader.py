"""A model that reads: it writes a gist from what the replies of tools hold, and knows nothing else.

It reads a request as JSON and prints one answer. What it brings is Python and pytest: their syntax,
built-ins, standard library and fixtures. Of the repository it knows what the conversation shows. It
looks for the names that the shown code uses, views what defines them, and goes on until none is left;
of a class it takes the methods whose name some code mentions. Then it copies the lines, hands them in
and ends. It uses view, search, relate and edit, whatever else their replies hold.
"""

import ast
import builtins
import json
import re
import symtable
import sys
from collections import defaultdict

NUMBERED = re.compile(r"^ *(\d+)(?: (.*))?$")
HEADER = re.compile(r"^[#\s]*([\w./-]+\.py)(?:(?::|, lines? )(\d+)(?:-(\d+))?)?:?\s*$")
CUT = re.compile(r"\[[^\]]*(left out|more)[^\]]*\]")
DECLARED = re.compile(r"(?im)^.*\b(?:modules|packages)\b[^:\n]*\brepository\b[^:\n]*: *(\S.*)$")
ABSENT = re.compile(r"nothing is named|is ambiguous|not found|no such|does not exist|past the end")
HOLE = "__hole__"
WAIT = ("wait",)
NOTHING = ("nothing",)
CALLS = 25
STEPS = 40
PYTEST = set(
    "cache capfd capfdbinary caplog capsys capsysbinary doctest_namespace monkeypatch "
    "pytestconfig pytester record_property record_testsuite_property record_xml_attribute recwarn "
    "request subtests testdir tmp_path tmp_path_factory tmpdir tmpdir_factory".split()
)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)


def indent(text):
    return len(text) - len(text.lstrip())


class File:
    """The lines of a file that were shown, and which of the others hold nothing of use."""

    def __init__(self, path):
        self.path, self.lines, self.covered, self.cuts = path, {}, set(), set()
        self.made = None

    def add(self, shown):
        """Takes lines in their order; a None among them says that some were left out there."""
        last, cut = None, False
        for entry in shown:
            if entry is None:
                cut = True
                if last:
                    self.cuts.add(last)
                continue
            number, text = entry
            self.lines[number] = text
            self.covered.add(number)
            if last and not cut and number > last:
                self.covered.update(range(last, number))
            last, cut = number, False
        self.made = None

    def gap(self, first, last):
        """Says of what lies between two shown lines: nothing, a part of a statement, or anything."""
        if all(number in self.covered for number in range(first + 1, last)):
            return ""
        return "hole" if first in self.cuts else "unknown"

    def units(self):
        """The statements at the top of the file, as far as they were shown."""
        if self.made is None:
            self.made = [unit for chunk in self.chunks() for unit in self.parsed(chunk)]
        return self.made

    def chunks(self):
        chunk, last, dropped = [], None, False
        for number in sorted(self.lines):
            text = self.lines[number]
            gap = self.gap(last, number) if last else "unknown"
            top = text.strip() and not indent(text) and text[0] not in ")]}#"
            joins = re.match(r"(elif|else|except|finally)\b", text)
            if gap == "unknown":
                is_class = any(re.match(r"class\b", line) for _, line in chunk)
                if chunk and not (is_class and indent(text)):
                    yield self.ended(chunk)
                    chunk = []
                dropped = not chunk and bool(indent(text) or text[:1] in ")]}" or joins)
            elif gap == "hole" and chunk:
                self.add_hole(chunk, last, top)
            if top and chunk and not joins and parse(self.ended(list(chunk))):
                yield self.ended(chunk)
                chunk = []
            dropped = dropped and (joins or not top)
            if not dropped:
                chunk.append((number, text))
            last = number
        if chunk:
            yield self.ended(chunk)

    def add_hole(self, chunk, last, top):
        before = self.lines[last]
        if before.rstrip().endswith(("(", ",")):
            # The rest of a signature is missing.
            chunk.append((last, " " * indent(before) + f"    *{HOLE}): {HOLE}"))
            return
        if before.lstrip().startswith("@"):
            chunk.append((last, " " * indent(before) + f"def {HOLE}(): {HOLE}"))
            return
        deeper = before.split("#")[0].rstrip().endswith(":")
        if deeper or not top:
            chunk.append((last, " " * (indent(before) + 4 * deeper) + HOLE))

    def ended(self, chunk):
        last, text = chunk[-1]
        if last in self.cuts and last + 1 not in self.covered and text.strip() != HOLE:
            self.add_hole(chunk, last, True)
        return chunk

    def parsed(self, chunk):
        tree = parse(chunk)
        numbers = [number for number, _ in chunk]
        for node in tree.body if tree else []:
            yield Unit(self, node, numbers)


def parse(chunk):
    try:
        return ast.parse("\n".join(text for _, text in chunk))
    except (SyntaxError, ValueError):
        return None


def start(node):
    return min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])


def bound(node, deep=True):
    """Names that a statement binds in the scope in which it stands."""
    if isinstance(node, DEFINITIONS):
        yield node.name
    elif isinstance(node, ast.Import):
        yield from (alias.asname or alias.name.split(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (alias.asname or alias.name for alias in node.names)
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            yield from (one.id for one in ast.walk(target) if isinstance(one, ast.Name))
    elif deep:
        for field in ("body", "orelse", "finalbody"):
            for inner in getattr(node, field, []) or []:
                yield from bound(inner)
        for handler in getattr(node, "handlers", []):
            for inner in handler.body:
                yield from bound(inner)


class Unit:
    """One statement at the top of a file."""

    def __init__(self, file, node, numbers):
        self.file, self.node, self.numbers = file, node, numbers
        self.path = file.path
        self.names = list(bound(node))
        self.first, self.last = numbers[start(node) - 1], numbers[node.end_lineno - 1]
        self.key = (self.path, self.first)
        self.typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)

    def lines(self, node):
        """The numbers of a node's lines, and whether some of it was not shown."""
        inner = self.numbers[start(node) - 1 : node.end_lineno]
        holes = any(isinstance(one, ast.Name) and one.id == HOLE for one in ast.walk(node))
        return inner, holes

    def strings(self):
        """The numbers of lines that begin within a string."""
        inside = set()
        for one in ast.walk(self.node):
            if isinstance(one, (ast.Constant, ast.JoinedStr)) and one.end_lineno > one.lineno:
                inside.update(self.numbers[one.lineno : one.end_lineno])
        return inside

    def head(self):
        """The numbers of a class's lines before its body."""
        body = self.node.body[0]
        return self.numbers[start(self.node) - 1 : max(start(body) - 1, self.node.lineno)]


def globals_of(text):
    """Names that a text takes from its module: while it is defined, and later."""
    try:
        table = symtable.symtable("from __future__ import annotations\n" + text, "unit", "exec")
    except SyntaxError:
        return set(), set()
    now, later = set(), set()

    def walk(scope, is_now):
        kind = str(scope.get_type())
        kind = kind.rsplit(".", 1)[-1].lower()
        is_code = kind == "function" and scope.get_name() not in ("lambda", "genexpr", "listcomp", "setcomp", "dictcomp")
        is_now = is_now and not is_code
        for symbol in scope.get_symbols():
            top = kind == "module"
            if symbol.is_referenced() and (top or symbol.is_global()):
                (now if is_now else later).add(symbol.get_name())
        for child in scope.get_children():
            if "annotation" not in str(child.get_type()).lower():
                walk(child, is_now)

    walk(table, True)
    return now, later


class Reader:
    def __init__(self, request):
        self.request = request
        self.files = {}
        self.replies = {}
        self.places = set()
        self.asked = defaultdict(int)
        self.wanted = []
        self.tools = {tool["name"]: tool for tool in request["tools"]}
        self.declared = None
        self.task = ""
        self.at_start = set()  # files of which the task itself shows a part
        self.steps = 0
        self.listen()

    # What was said.

    def listen(self):
        calls = {}
        for message in self.request["messages"]:
            role, content = message["role"], message.get("content", "")
            if role == "user":
                self.task = self.task or content
                self.hear_text(content)
                found = DECLARED.search(content)
                if found and self.declared is None:
                    words = re.findall(r"[A-Za-z_]\w*", found.group(1))
                    self.declared = set(words)
            elif role == "assistant":
                self.steps += 1
                for call in message.get("calls", []):
                    calls[call["id"]] = signature(call["tool"], call["arguments"])
                    self.asked[calls[call["id"]]] += 1
            elif role == "tool":
                asked = calls.get(message["id"])
                self.hear_reply(asked, content)

    def file(self, path):
        return self.files.setdefault(path, File(path))

    def hear_text(self, text):
        path, shown, first, left = None, [], None, 0

        def close():
            if path and any(shown):
                self.file(path).add(shown)
                self.at_start.add(path)

        for line in text.split("\n"):
            header, numbered = HEADER.match(line), NUMBERED.match(line)
            if header:
                close()
                path, shown = header.group(1), []
                first = int(header.group(2) or 0)
                left = int(header.group(3) or 0) - first + 1 if header.group(3) else 0
            elif path and numbered and not (left and not shown and first != int(numbered.group(1))):
                shown.append((int(numbered.group(1)), numbered.group(2) or ""))
                left = 0
            elif path and CUT.search(line):
                shown.append(None)
            elif path and left > 0:
                shown.append((first, line))
                first, left = first + 1, left - 1
            else:
                close()
                path, shown = None, []
        close()

    def hear_reply(self, asked, content):
        try:
            value, _ = json.JSONDecoder().raw_decode(content.lstrip())
        except ValueError:
            value = salvaged(content)
        before = sum(len(file.lines) for file in self.files.values())
        self.hear_value(value)
        after = sum(len(file.lines) for file in self.files.values())
        state = "absent" if ABSENT.search(content) and not isinstance(value, dict) else "told"
        if state == "told" and not isinstance(value, dict):
            state = "unclear"
        self.replies[asked] = (state, value, after > before)
        for target in targets(asked):
            inner = entry(value, target)
            told = inner is not None and isinstance(inner.get("path"), str)
            absent = inner is not None and not told or ABSENT.search(content) and inner is None and state == "absent"
            alone = signature("view", without(asked, target))
            self.asked[alone] += 1
            self.replies[alone] = ("told" if told else "absent" if absent else "unclear", inner, told)
            if told:
                self.places.add(inner["path"])
        path = value.get("path") if isinstance(value, dict) else None
        if asked and isinstance(path, str) and path.endswith(".py"):
            self.places.add(path)

    def hear_value(self, value):
        if isinstance(value, list):
            for inner in value:
                self.hear_value(inner)
        elif isinstance(value, dict):
            path = value.get("path")
            if isinstance(path, str) and path.endswith(".py"):
                for key, text in value.items():
                    texts = text if isinstance(text, list) else [text]
                    texts = [one for one in texts if isinstance(one, str)]
                    if texts and key != "path":
                        self.hear_lines(path, "\n".join(texts).split("\n"))
            for inner in value.values():
                if isinstance(inner, (dict, list)):
                    self.hear_value(inner)

    def hear_lines(self, path, lines):
        shown, alone = [], True
        for line in lines:
            numbered = NUMBERED.match(line)
            if numbered:
                alone = False
                shown.append((int(numbered.group(1)), numbered.group(2) or ""))
            elif CUT.search(line):
                shown.append(None)
        if not alone:
            self.file(path).add(shown)

    # What to ask.

    def want(self, tool, **arguments):
        """Asks for something, once; returns what came of it."""
        if tool == "view":
            # Docstrings are no part of what a gist does.
            options = self.tools.get("view", {}).get("parameters", {}).get("properties", {})
            arguments.update({name: False for name in options if "docstring" in name})
        asked = signature(tool, arguments)
        state = self.replies.get(asked)
        if state and (state[0] != "unclear" or self.asked[asked] >= 8):
            return state if tool != "view" or self.rest(state[1]) else None
        call = {"tool": tool, "arguments": arguments}
        if tool in self.tools and call not in self.wanted:
            self.wanted.append(call)
        return None

    def rest(self, value):
        """Asks for what a view left out behind its end; says whether it has come."""
        value = value if isinstance(value, dict) else {}
        first, more = value.get("next"), value.get("left_out")
        if not isinstance(first, int) or not isinstance(more, int) or more < 1:
            return True
        return self.want("view", target=value["path"], first=first, last=first + more - 1) is not None

    def offers(self, tool, name):
        return name in self.tools.get(tool, {}).get("parameters", {}).get("properties", {})

    # Where names are.

    def internal(self, top):
        if top in sys.stdlib_module_names:
            return False
        if self.declared is not None:
            return top in self.declared
        state = self.want("view", target=top, outline=True)
        return state and state[0] == "told"

    def candidates(self, unit, node):
        """The paths that a relative import may mean, or the dotted name of an absolute one."""
        if not getattr(node, "level", 0):
            return [], node.module
        parts = unit.path.split("/")[: -node.level]
        parts += node.module.split(".") if node.module else []
        base = "/".join(parts)
        return [base + ".py", base + "/__init__.py"] if node.module else [base + "/__init__.py"], None

    def paths_of(self, dotted):
        tails = [dotted.replace(".", "/") + end for end in (".py", "/__init__.py")]
        fits = lambda path, tail: path == tail or path.endswith("/" + tail)
        places = sorted(self.places | set(self.files))
        return [path for path in places for tail in tails if fits(path, tail)]

    def find(self, paths, dotted, name, seen):
        """What a name of a module is: units that bind it, a module, or an import of something outside."""
        known = [path for path in paths if path in self.files]
        known += [path for path in (self.paths_of(dotted) if dotted else []) if path not in known]
        for path in known:
            found = self.here(path, name, seen)
            if found is not None:
                return found
        for path in known or paths:
            if self.want("view", target=f"{path}::{name}") is None:
                return WAIT
        if dotted:
            state = self.want("view", target=f"{dotted}.{name}")
            if state is None:
                return WAIT
            if not known and self.want("view", target=dotted, outline=True) is None:
                return WAIT
            shown = state[1].get("path") if isinstance(state[1], dict) else None
            if state[0] == "told" and shown and shown not in known:
                found = self.here(shown, name, seen)
                if found is not None:
                    return found
                if re.search(rf"(^|/){name}(\.py|/__init__\.py)$", shown):
                    return ("module", [shown], f"{dotted}.{name}")
        # A module of a package is a name of it, too.
        packages = [path for path in paths + known if path.endswith("/__init__.py")]
        packages = [path for path in packages if path in self.files or len(paths) == 1]
        packages = [path[: -len("__init__.py")] for path in packages]
        inner = [package + name + end for package in packages for end in (".py", "/__init__.py")]
        submodules = [path for path in inner if path in self.files]
        submodules += self.paths_of(f"{dotted}.{name}") if dotted else []
        if submodules:
            return ("module", submodules, f"{dotted}.{name}" if dotted else None)
        for path in inner:
            state = self.want("view", target=path, outline=True)
            if state is None:
                return WAIT
            if state[0] == "told":
                return ("module", [path], None)
        known += [path for path in (self.paths_of(dotted) if dotted else []) if path not in known]
        return self.looked_up(known or paths, name, seen)

    def looked_up(self, paths, name, seen):
        pattern = rf"^\s*(async def |def |class )?{name}\b|\bimport\b.*\b{name}\b"
        for path in paths:
            state = self.want("search", kind="regex", pattern=pattern, under=path, limit=5)
            if state is None:
                return WAIT
            hits = state[1].get("hits", []) if isinstance(state[1], dict) else []
            for hit in hits[:3]:
                line = hit["line"]
                if self.want("view", target=hit["path"], first=max(1, line - 25), last=line + 15) is None:
                    return WAIT
                found = self.here(hit["path"], name, seen)
                if found is not None:
                    return found
        return NOTHING

    def here(self, path, name, seen=frozenset()):
        """The same of one file, from what of it was shown; nothing where that does not say."""
        if (path, name) in seen:
            return None
        seen = seen | {(path, name)}
        file = self.files.get(path)
        units = [unit for unit in file.units() if name in unit.names] if file else []
        real = [unit for unit in units if not unit.typing]
        if units and not real:
            return NOTHING
        own = [unit for unit in real if not isinstance(unit.node, IMPORTS)]
        imports = [unit for unit in real if isinstance(unit.node, IMPORTS)]
        if own:
            plain = (*DEFINITIONS, ast.Assign, ast.AnnAssign)
            conditional = imports and not any(isinstance(unit.node, plain) for unit in own)
            return ("units", [*imports, *own] if conditional else own)
        for unit in imports:
            return self.imported(unit, name, seen)
        return None

    def imported(self, unit, name, seen, node=None):
        """What an import gives a name."""
        node = node or unit.node
        for alias in node.names:
            first = alias.name.split(".")[0]
            is_import = isinstance(node, ast.Import)
            if (alias.asname or (first if is_import else alias.name)) != name:
                continue
            paths, dotted = ([], alias.name) if is_import else self.candidates(unit, node)
            if dotted:
                top = self.internal(dotted.split(".")[0])
                if not top:
                    return WAIT if top is None else ("outside", written(node, alias))
            if is_import:
                dotted = alias.name if alias.asname else first
                return ("module", self.paths_of(dotted), dotted)
            return self.find(paths, dotted, alias.name, seen)
        return NOTHING


def signature(tool, arguments):
    return json.dumps([tool, arguments], sort_keys=True)


def targets(asked):
    """What a call asked for at once."""
    return json.loads(asked)[1].get("targets", []) if asked else []


def without(asked, target):
    """The arguments of the call that asks for one of them alone."""
    arguments = json.loads(asked)[1]
    del arguments["targets"]
    return {**arguments, "target": target}


def entry(value, target):
    """What a reply says of one of them."""
    if isinstance(value, list):
        return next((found for one in value if (found := entry(one, target)) is not None), None)
    if isinstance(value, dict):
        return value if value.get("target") == target else entry(list(value.values()), target)
    return None


def salvaged(content):
    """A reply that was cut in its middle."""
    path = re.search(r'"path": *"([^"]+)"', content)
    text = re.search(r'"text": *"(.*)', content, re.S)
    if not path or not text:
        return None
    lines = text.group(1).replace('\\"', '"').replace("\\n", "\n").split("\n")
    kept = [line for at, line in enumerate(lines) if not any(CUT.search(near) for near in lines[max(0, at - 1) : at + 2])]
    return {"path": path.group(1), "text": "\n".join(kept[:-1])}


def written(node, alias):
    name = alias.name + (f" as {alias.asname}" if alias.asname else "")
    return f"import {name}" if isinstance(node, ast.Import) else f"from {node.module} import {name}"


class Writer(Reader):
    """Gathers what the test needs and writes it down."""

    def __init__(self, request):
        super().__init__(request)
        self.needed = {}  # key of a unit -> unit
        self.members = defaultdict(set)  # key of a class -> first lines of the members that are kept
        self.outside = {}  # name -> import statements
        self.modules = {}  # name -> whether it stands for a module
        self.needs = defaultdict(dict)  # key -> {name: keys}
        self.mentioned = set()
        self.own = defaultdict(set)  # name of an attribute of `self` -> keys of the classes that say so
        self.edits = {}  # (path, line) -> text or None
        self.tests = re.findall(r"(?m)^- (\S+\.py(?:::\S+)?)\s*$", self.task)

    def answer(self):
        self.gather()
        if self.wanted and self.steps < STEPS:
            return {"content": "", "calls": self.sources() or self.batched()}
        text = self.text()
        calls = [{"tool": "edit", "arguments": {"action": "create", "text": text}}]
        return {"content": "", "calls": [*calls, {"tool": "submit", "arguments": {}}]}

    def sources(self):
        """Asks for what a test depends on with its source, where that can be had, part by part."""
        if not self.offers("relate", "source") or not self.tests:
            return []
        first = re.search(r"\brelate\b.*\bfirst\W+(\d+)", self.task)
        first = int(first.group(1)) if first else None
        while True:
            arguments = {"relation": "dependencies", "of": self.tests[0], "depth": 16, "source": True}
            arguments.update({"first": first} if first else {})
            state = self.replies.get(signature("relate", arguments))
            if state is None:
                return [{"tool": "relate", "arguments": arguments}]
            following = state[1].get("next") if isinstance(state[1], dict) else None
            if not isinstance(following, int) or following <= (first or 0):
                return []
            first = following

    def batched(self):
        """The calls that are wanted, and what is viewed as one call where that can be had."""
        if not self.offers("view", "targets"):
            return self.wanted[:CALLS]
        alone, together, rest = [], [], {}
        for call in self.wanted:
            arguments = dict(call["arguments"])
            target = arguments.pop("target", "")
            if call["tool"] == "view" and not set(arguments) - {"docstrings"}:
                together.append(target)
                rest = arguments
            else:
                alone.append(call)
        if together:
            alone.insert(0, {"tool": "view", "arguments": {**rest, "targets": together[: 4 * CALLS]}})
        return alone[:CALLS]

    # The closure.

    def gather(self):
        self.fixtures = set()
        self.conftests = []
        before = None
        while before != (before := self.size()):
            # A name that is wanted may be found to be a method's as more is followed.
            self.wanted = []
            for test in self.tests:
                self.test(test)
            for unit in list(self.needed.values()):
                self.follow(unit)

    def size(self):
        members = sum(map(len, self.members.values()))
        own = sum(map(len, self.own.values()))
        return len(self.needed), members, len(self.mentioned) + own, len(self.outside), len(self.modules), len(self.fixtures)

    def test(self, test):
        path, *names = test.split("::")
        names = [name.split("[")[0] for name in names]
        if not names:
            self.want("view", target=path)
            return
        folders = path.split("/")[:-1]
        self.conftests = ["/".join([*folders[:at], "conftest.py"]) for at in range(len(folders), -1, -1)]
        if path not in self.at_start:
            for conftest in self.conftests:
                self.want("view", target=conftest)
        found = self.here(path, names[0])
        if found is None:
            self.want("view", target="::".join([path, *names]))
            if len(names) > 1:
                self.want("view", target=f"{path}::{names[0]}")
            if self.replies.get(signature("view", self.wanted[-1]["arguments"] if self.wanted else {})) or not self.wanted:
                self.want("view", target=path, first=1, last=40)
            return
        for unit in found[1] if found[0] == "units" else []:
            self.need(unit)
            if isinstance(unit.node, ast.ClassDef):
                for member in unit.node.body:
                    name = getattr(member, "name", "")
                    if isinstance(member, FUNCTIONS) and is_fixture(member) and "autouse=True" in unparsed(member):
                        self.fixture(path, name, unit)
                    if name in names or re.match(r"(setup|teardown)(_|$|Class|Module)|setUp|tearDown", name):
                        self.keep(unit, member)
                        if name in names:
                            self.parameters(path, member, unit)
            else:
                self.parameters(path, unit.node, None)
        sources = [path, *self.conftests]
        for source in sources:
            for unit in self.files[source].units() if source in self.files else []:
                if isinstance(unit.node, FUNCTIONS) and is_fixture(unit.node) and "autouse=True" in unparsed(unit.node):
                    self.fixture(path, unit.node.name)
                if "pytestmark" in unit.names:
                    self.need(unit)

    def parameters(self, path, node, within):
        marked = " ".join(unparsed(one) for one in node.decorator_list)
        given = {name.strip() for names in re.findall(r"parametrize\(\s*[\[(]?((?:['\"][\w, ]+['\"],? ?)+)", marked) for part in re.findall(r"['\"]([\w, ]+)['\"]", names.split("],")[0]) for name in part.split(",")}
        used = {name for names in re.findall(r"usefixtures\(([^)]*)\)", marked) for name in re.findall(r"\w+", names)}
        arguments = node.args
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            if argument.arg not in given and argument.arg not in ("self", "cls"):
                used.add(argument.arg)
        for name in sorted(used):
            self.fixture(path, name, within)

    def fixture(self, path, name, within=None):
        if name in self.fixtures:
            return
        self.fixtures.add(name)
        if within:
            for member in within.node.body:
                if getattr(member, "name", "") == name and is_fixture(member):
                    self.keep(within, member)
                    self.parameters(path, member, within)
                    return
        for source in [path, *self.conftests]:
            found = self.here(source, name) if source in self.files else None
            for unit in found[1] if found and found[0] == "units" else []:
                self.need(unit)
                if isinstance(unit.node, FUNCTIONS):
                    self.parameters(path, unit.node, None)
            if found and found[0] == "units":
                return
        if name not in PYTEST:
            for source in [path, *self.conftests]:
                state = self.want("view", target=f"{source}::{name}")
                if state is None:
                    return

    def need(self, unit):
        if unit.key not in self.needed:
            self.needed[unit.key] = unit

    def keep(self, unit, member):
        self.members[unit.key].add(member.lineno)

    def bases(self, unit):
        """The classes of the repository that a class stands on, and what its other bases are called."""
        classes, others = [], []
        for base in unit.node.bases:
            name = unparsed(base).split("[")[0]
            keys = self.needs[unit.key].get(name.split(".")[0], []) + self.needs[unit.key].get(name.split(".")[-1], [])
            found = [self.needed[key] for key in keys if key in self.needed]
            found = [one for one in found if isinstance(one.node, ast.ClassDef)]
            classes += found
            if not found:
                others.append(name)
        return classes, others

    def ancestors(self, unit):
        found, stack = {}, [unit]
        while stack:
            one = stack.pop()
            if one.key not in found:
                found[one.key] = one
                stack += self.bases(one)[0]
        return found

    def called_outside(self, unit):
        """The methods of a class that its bases from outside may call; None where that is unknown."""
        names = set()
        for one in self.ancestors(unit).values():
            if one.node.keywords:
                return None
            for base in self.bases(one)[1]:
                known = self.library(base)
                if known is None:
                    return None
                names |= known
        return names

    def library(self, base):
        """The attributes of a class of Python's own."""
        first, *rest = base.split(".")
        text = self.outside.get(first, "")
        if not text and not hasattr(builtins, first):
            return None
        module = re.match(r"(?:from|import) ([\w.]+)", text)
        if module and module.group(1).split(".")[0] not in sys.stdlib_module_names:
            return None
        space = {}
        try:
            exec(text, space)
            return set(dir(eval(base, space))) - set(dir(object))
        except Exception:
            return None

    def is_mentioned(self, unit, name):
        if name in self.mentioned:
            return True
        mine = self.ancestors(unit)
        said = [self.needed[key] for key in self.own.get(name, ()) if key in self.needed]
        return any(one.key in mine or unit.key in self.ancestors(one) for one in said)

    def kept_members(self, unit):
        is_test = any(test.startswith(unit.path + "::" + unit.node.name + "::") for test in self.tests)
        outside = set() if is_test else self.called_outside(unit)
        for member in unit.node.body:
            if isinstance(member, ast.Expr) and isinstance(getattr(member.value, "value", None), str):
                continue
            if isinstance(member, ast.Expr) and isinstance(member.value, ast.Name) and member.value.id == HOLE:
                continue
            if isinstance(member, FUNCTIONS) and outside is not None and member.lineno not in self.members[unit.key]:
                name = member.name
                dunder = name.startswith("__") and name.endswith("__")
                if is_test or not (dunder or name in outside or self.is_mentioned(unit, name)):
                    continue
            yield member

    def follow(self, unit):
        if isinstance(unit.node, ast.ClassDef):
            nodes = list(self.kept_members(unit))
            for member in nodes:
                if unit.lines(member)[1] and isinstance(member, DEFINITIONS):
                    self.shown(unit, f"{unit.path}::{unit.node.name}::{member.name}", unit.lines(member)[0])
                if isinstance(member, FUNCTIONS) and is_fixture(member):
                    self.parameters(unit.path, member, unit)
            if unit.lines(unit.node)[1] and any(isinstance(one, ast.Expr) and isinstance(one.value, ast.Name) and one.value.id == HOLE for one in unit.node.body):
                self.shown(unit, None, unit.lines(unit.node)[0])
            head = [*unit.node.bases, *(one.value for one in unit.node.keywords), *unit.node.decorator_list]
            nodes = [*head, *nodes]
        else:
            nodes = [unit.node]
            if unit.lines(unit.node)[1]:
                name = unit.node.name if isinstance(unit.node, DEFINITIONS) else None
                self.shown(unit, name and f"{unit.path}::{name}", unit.lines(unit.node)[0])
        for node in nodes:
            for one in ast.walk(node):
                self.mention(unit, one)
        text = "\n".join(self.unit_lines(unit, bare=True))
        now, later = globals_of(text)
        for name in sorted(now | later):
            if name == HOLE or not text or name in unit.names and isinstance(unit.node, (ast.If, ast.Try)):
                continue
            self.name(unit, name, nodes)
        for node in nodes:
            inner = ast.walk(node)
            for one in inner:
                if isinstance(one, IMPORTS):
                    self.local_import(unit, one)

    def mention(self, unit, node):
        """Takes down an attribute that code asks something of the repository for."""
        if isinstance(node, ast.Call) and unparsed(node.func) in ("getattr", "hasattr", "setattr", "delattr"):
            if len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
                self.mentioned.add(node.args[1].value)
        if not isinstance(node, ast.Attribute):
            return
        root, plain = node.value, True
        while isinstance(root, ast.Attribute):
            root, plain = root.value, False
        if isinstance(root, (ast.Constant, ast.JoinedStr, ast.List, ast.Dict, ast.Set, ast.ListComp)):
            return
        if isinstance(root, ast.Name):
            if root.id in self.outside and root.id not in self.needs[unit.key]:
                return
            if plain and root.id in ("self", "cls") and isinstance(unit.node, ast.ClassDef):
                self.own[node.attr].add(unit.key)
                return
        if plain and isinstance(root, ast.Call) and unparsed(root.func) == "super":
            self.own[node.attr].add(unit.key)
            return
        self.mentioned.add(node.attr)

    def shown(self, unit, target, lines):
        state = self.want("view", target=target) if target else ("told", {}, False)
        if state is not None:
            first, last = lines[0], lines[-1]
            value = state[1] if isinstance(state[1], dict) else {}
            self.want("view", target=unit.path, first=value.get("next") or first, last=max(last, first + 80))

    def name(self, unit, name, nodes):
        found = self.here(unit.path, name)
        if found is None and hasattr(builtins, name):
            return
        if found == WAIT or name in ("__file__", "__name__", "__spec__", "__package__"):
            return
        if found is None:
            if self.want("view", target=f"{unit.path}::{name}") is None:
                return
            if self.want("view", target=unit.path, first=1, last=60) is None:
                return
            found = self.looked_up([unit.path], name, frozenset())
        self.use(unit, name, name, found, nodes)

    def use(self, unit, local, name, found, nodes):
        """Takes what a name means; a module is asked for what the nodes take from it."""
        if found in (None, WAIT, NOTHING):
            return
        if found[0] == "outside":
            self.outside.setdefault(local, found[1])
            return
        if found[0] == "units":
            for one in found[1]:
                if isinstance(one.node, IMPORTS):
                    again = self.imported(one, name, frozenset())
                    if again and again[0] == "outside":
                        self.outside.setdefault(local, again[1])
                    continue
                self.need(one)
                self.needs[unit.key].setdefault(local, []).append(one.key)
            own = found[1][-1]
            if local not in own.names and not isinstance(own.node, IMPORTS):
                # It has another name where it is defined.
                self.modules.setdefault(local, own.names[0])
            return
        _, paths, dotted = found
        self.modules.setdefault(local, None)
        chains = defaultdict(set)
        for node in nodes:
            for one in ast.walk(node):
                if isinstance(one, ast.Attribute):
                    chain = unparsed(one)
                    if chain.startswith(local + "."):
                        chains[chain[len(local) + 1 :].split(".")[0]].add(chain)
        for attribute in sorted(chains):
            inner = self.find(list(paths), dotted, attribute, frozenset())
            if inner and inner[0] == "module":
                self.modules.setdefault(attribute, None)
                deeper = {chain[len(local) + 1 :] for chain in chains[attribute]}
                for chain in deeper:
                    rest = chain.split(".")[1:2]
                    if rest:
                        again = self.find(list(inner[1]), inner[2], rest[0], frozenset())
                        self.use(unit, rest[0], rest[0], again, [])
            else:
                self.use(unit, attribute, attribute, inner, nodes)

    def local_import(self, unit, node):
        """An import within a function: of the repository it becomes a name, or goes."""
        if node is unit.node:
            return
        replaced, is_own = [], False
        for alias in node.names:
            local = alias.asname or (alias.name.split(".")[0] if isinstance(node, ast.Import) else alias.name)
            if alias.name == "*":
                return
            found = self.imported(unit, local, frozenset(), node)
            if found in (None, WAIT) or found[0] == "outside":
                continue
            is_own = True
            if found == NOTHING:
                continue
            target = found[1][-1].names[0] if found[0] == "units" else None
            if found[0] == "units":
                self.use(unit, target, target, found, [])
                if alias.name in found[1][-1].names:
                    target = alias.name
                if local != target:
                    replaced.append(f"{local} = {target}")
            else:
                self.use(unit, local, local, found, [unit.node])
        if is_own:
            lines = unit.numbers[node.lineno - 1 : node.end_lineno]
            pad = " " * node.col_offset
            alone = not replaced and any(
                [node] == getattr(one, field, None) for one in ast.walk(unit.node) for field in ("body", "orelse", "finalbody")
            )
            text = pad + ("; ".join(replaced) or "pass")
            for line in lines:
                self.edits[unit.path, line] = None
            self.edits[unit.path, lines[0]] = text if replaced or alone else None

    # The text.

    def unit_lines(self, unit, bare=False):
        lines = unit.file.lines
        if isinstance(unit.node, ast.ClassDef):
            members = list(self.kept_members(unit))
            numbers = list(unit.head())
            for member in members:
                numbers += unit.lines(member)[0]
            if not members:
                pad = " " * (indent(lines[unit.first]) + 4)
                return [*(lines[number] for number in numbers), pad + "pass"]
        else:
            numbers = unit.lines(unit.node)[0]
        shown, strings = [], unit.strings()
        for number in dict.fromkeys(numbers):
            text = lines[number]
            if not bare and (unit.path, number) in self.edits:
                text = self.edits[unit.path, number]
            is_code = text is not None and text.strip() and not text.lstrip().startswith("#")
            if is_code or number in strings:
                shown.append(text)
        return shown

    def text(self):
        order, done, busy = [], set(), set()
        now, later = {}, {}
        for key, unit in self.needed.items():
            first, second = globals_of("\n".join(self.unit_lines(unit, bare=True)))
            defined = {}
            for kind, names in ((now, first), (later, second)):
                kind[key] = [other for name in sorted(names) for other in self.needs[key].get(name, [])]
            attributes = [other for name, keys in self.needs[key].items() if name not in first | second for other in keys]
            (later if isinstance(unit.node, FUNCTIONS) else now)[key] += attributes
        hard = {}

        def closure(key):
            if key not in hard:
                hard[key] = set()
                for other in now[key]:
                    if other in now:
                        hard[key] |= {other} | closure(other)
            return hard[key]

        def emit(key):
            if key in done or key in busy or key not in self.needed:
                return
            busy.add(key)
            for other in now[key]:
                emit(other)
            # What is made while this is defined may run code that needs the rest.
            stack, seen = list(now[key]), set()
            while stack:
                other = stack.pop()
                if other in seen or other not in now:
                    continue
                seen.add(other)
                if other not in busy and not closure(other) & busy:
                    emit(other)
                stack += [*now[other], *later[other]]
            busy.discard(key)
            if key not in done:
                done.add(key)
                order.append(key)

        tests = [key for key, unit in self.needed.items() if any(test.startswith(unit.path + "::") for test in self.tests)]
        for key in sorted(self.needed, key=lambda key: (key in tests, key)):
            emit(key)
        lines = ["from __future__ import annotations"] if self.is_deferred() else []
        lines += sorted({text for name, text in self.outside.items()})
        aliases = {name: other for name, other in self.modules.items() if other and other != name}
        plain = [name for name, other in self.modules.items() if not other]
        if plain:
            lines.append("import sys")
            lines += [f"{name} = sys.modules[__name__]" for name in plain if name not in self.outside]
        taken, texts = set(), set()
        for key in order:
            unit = self.needed[key]
            text = self.unit_lines(unit)
            if tuple(text) in texts:
                continue
            texts.add(tuple(text))
            first, _ = globals_of("\n".join(text))
            clashes = [name for name in plain if name in self.outside and name in first]
            lines += [f"{name} = sys.modules[__name__]" for name in clashes]
            lines += ["", *text]
            lines += [self.outside[name] for name in clashes]
            for name, other in list(aliases.items()):
                if other in unit.names:
                    lines.append(f"{name} = {other}")
                    del aliases[name]
        return "\n".join(lines) + "\n"

    def is_deferred(self):
        paths = {unit.path for unit in self.needed.values()}
        return any("annotations" in unit.names and getattr(unit.node, "module", "") == "__future__" for path in paths for unit in self.files[path].units())


def unparsed(node):
    return ast.unparse(node)


def is_fixture(node):
    return any("fixture" in unparsed(one).split("(")[0] for one in node.decorator_list)


if __name__ == "__main__":
    print(json.dumps(Writer(json.load(sys.stdin)).answer()))
