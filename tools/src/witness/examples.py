"""The examples of a docstring: what they say, the names they ask for, and those that ran; the fourth part of one
embedded program, witness.py is the last. Skipped ones count among what is said, as to skip them is said there."""

import hashlib
import types


def _examples(item):
    """What the examples of a docstring say, as texts."""
    rows = []
    for example in getattr(getattr(item, "dtest", None), "examples", None) or ():
        options = sorted([(key, bool(value)) for key, value in example.options.items()])
        rows.append(_text(repr((example.source, example.want, example.exc_msg, options))))
    return rows


def _said(rows):
    """The first of them, cut where they are long, and a digest of all."""
    said = [["example %d" % at, row[:2000]] for at, row in enumerate(rows[:_MOST_VALUES])]
    return said + [["%d examples" % len(rows), _digest("\n".join(rows))]] if rows else []


def _digest(text):
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _named(item, found):
    """Adds what the examples of a docstring find by their names."""
    import __future__
    import doctest

    names_of, told = item.dtest.globs, set()
    features = [(name, getattr(__future__, name)) for name in __future__.all_feature_names]
    flags = sum([feature.compiler_flag for name, feature in features if names_of.get(name) is feature])
    for example in item.dtest.examples:
        if example.options.get(doctest.SKIP):
            continue
        try:
            codes = [compile(example.source, "<example>", "single", flags, True)]
        except Exception:
            continue  # It says so itself, when it runs.
        for code in codes:
            codes += [part for part in code.co_consts if type(part) is types.CodeType]
            names, parts, chains = _asked(code)
            for name in names:
                if name not in told and name in names_of:
                    told.add(name)
                    found.named(name, names_of[name], parts, "")
                    if name in _Builtins and names_of[name] is not _Builtins[name]:
                        found.add("shadow " + name, "object")
            for chain in chains:
                found.behind(chain, "", names_of)


def _overridden(item):
    """Methods of what runs a docstring that it has been given others for: (class, name)."""
    runner = getattr(item, "runner", None)
    pairs = []
    for value in (runner, getattr(runner, "_checker", None)):
        if value is not None:
            kind = type(value)
            own = [name for name in _held(value) if any([name in _attributes(base) for base in _mro(kind)])]
            pairs += [(_type_name(kind), name) for name in own]
    return pairs


class _Ran:
    """Tells each example that is executed, by whomever Python's own doctest was asked to."""

    def __init__(self, library, place, send):
        self.file, self.place, self.send, self.count = library + "doctest.py", place, send, 0

    def executed(self, code, frame):
        if frame is None or code.co_filename[:9] != "<doctest " or self.place(frame.f_code.co_filename) != self.file:
            return
        example = frame.f_locals.get("example")
        self.count += 1
        if self.count <= _MOST_ROWS and example is not None:
            self.send("example", digest=_digest(_text(repr((example.source, example.want)))))
