"""The examples of a docstring: what they say, the names they ask for, and those that ran; the fourth part of one
embedded program, witness.py is the last. Skipped ones count among what is said, as to skip them is said there."""

import hashlib

_MOST_EXAMPLES = 20_000
_DIGITS = 32


def _examples(item):
    """What the examples of a docstring say, as texts."""
    rows = []
    for example in getattr(getattr(item, "dtest", None), "examples", None) or ():
        options = sorted([(key, bool(value)) for key, value in example.options.items()])
        rows.append(_text(repr((example.source, example.want, example.exc_msg, options))))
    return rows


def _said(rows, root):
    """How many they are, and a digest of all; where the repository lies is no part of that."""
    return [["%d examples" % len(rows), _digest("\n".join(rows).replace(root, ""))]] if rows else []


def _digest(text):
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:_DIGITS]


def _named(item, found):
    """Adds what the examples of a docstring find by their names."""
    import doctest

    codes, flags = [], doctest._extract_future_flags(item.dtest.globs)
    for example in item.dtest.examples:
        if not example.options.get(doctest.SKIP):
            try:
                codes.append(compile(example.source, "<example>", "single", flags, True))
            except Exception:
                pass  # It says so itself, when it runs.
    found.asked(codes, found.table(item.dtest.globs), "")


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


def _counting(library, place):
    """Two functions: the first counts each example that is executed, by whomever Python's own doctest was asked to,
    and tells whether it could; the second says how often each was. The counts have no name."""
    own, counts, digest, get = library + "doctest.py", {}, _digest, _get

    def executed(code, frame):
        if frame is None or code.co_filename[:9] != "<doctest " or place(frame.f_code.co_filename) != own:
            return True
        example = frame.f_locals.get("example")
        if example is not None:
            key = digest(_text(repr((example.source, example.want))))
            counts[key] = get(counts, key, 0) + 1
        return len(counts) <= _MOST_EXAMPLES

    def told():
        return {**counts}

    return executed, told
