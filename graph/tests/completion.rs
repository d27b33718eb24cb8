//! Functions as completion tasks: dependency sets, contexts, and which functions make none.

use gistify_graph::{
    CompletionFunction, ContextSize, Extraction, ExtractionOptions, extract_of_sources,
};

const PACKAGE: &[(&str, &str)] = &[
    ("pkg/__init__.py", "from .errors import BadInput\nfrom . import checks as checking\n"),
    (
        "pkg/_patterns.py",
        "import re\n\n__all__ = ['WORD_RE', 'SPACE_RE']\n\nWORD_RE = re.compile(r'\\w+')\nSPACE_RE = re.compile(r'\\s+')\n",
    ),
    (
        "pkg/errors.py",
        r#"from typing import Any

class BadInput(TypeError):
    """
    Raised for what is no text.
    """

    kind = 'input'

    def __init__(self, value: Any):
        """
        :param value: Any object
        """
        super().__init__(repr(value))

    @property
    def text(self): return self.args[0]
"#,
    ),
    (
        "pkg/checks.py",
        r#"from .limits import MOST, DEEPEST

def is_text(value):
    """Returns true for a text."""
    return isinstance(value, str)


def is_short(value):
    """Returns true for a short text.

        Lines of it are kept.
    """
    # As short as that.
    return is_text(value) and len(value) < MOST
"#,
    ),
    ("pkg/limits.py", "MOST = 10\nDEEPEST = 3\n"),
    (
        "pkg/words.py",
        r#"import os
from typing import List, TypeVar, Union, cast
from ._patterns import *
from .errors import BadInput as Bad
from .checks import is_short, is_text
from pkg import checking, limits
try:
    import fast
except ImportError:
    fast = None

T = TypeVar('T')
Words = Union[List[str], None]
SEPARATOR = '-'
TABLE: dict = {}
TABLE['a'] = 1


def own_helper(x):
    return x


def split(
    text: str,
    *,
    upper: bool = False,
) -> List[str]:
    """
    Splits a text into its words.

    :param text: What to split.
    """
    from .limits import DEEPEST
    if not is_text(text) or not is_short(text):
        raise Bad(text)
    if fast:
        return fast.split(text)
    words = [own_helper(word) for word in WORD_RE.findall(text)]
    return cast(Words, cast(T, words[:DEEPEST]))


def join(words, own_helper=None):
    """Joins words to a text."""
    global TABLE
    TABLE = {}
    return SEPARATOR.join(words) + checking.is_text(os.sep) + limits.MOST + join([])


if os.name == 'posix':
    @decorated
    def nested(x):
        """Nested in a block of the module."""
        return [
            SEPARATOR,
        ]
"#,
    ),
];

fn extracted(depth: u32) -> Extraction {
    let options = ExtractionOptions { depth, ..ExtractionOptions::default() };
    extract_of_sources(PACKAGE.iter().copied(), &options)
}

fn function(depth: u32, name: &str) -> CompletionFunction {
    let found = extracted(depth).functions.into_iter().find(|one| one.name == name);
    found.unwrap_or_else(|| panic!("no function {name}"))
}

/// `expected` has the written names in the order of the context: in another file with its path.
fn check(name: &str, depth: u32, expected: &str) {
    let function = function(depth, name);
    let told: Vec<String> = function
        .dependencies
        .iter()
        .map(|one| match one.cross_file {
            true => format!("{}:{}", one.path.trim_start_matches("pkg/"), one.written),
            false => one.written.clone(),
        })
        .collect();
    assert_eq!(told.join(" "), expected, "{name}");
}

#[test]
fn dependency_sets_have_what_the_repository_defines() {
    check(
        "split",
        1,
        "_patterns.py:WORD_RE errors.py:Bad checks.py:is_text checks.py:is_short limits.py:DEEPEST own_helper",
    );
    check("join", 1, "checks.py:is_text limits.py:MOST SEPARATOR TABLE");
    check("is_short", 1, "limits.py:MOST is_text");
    check("own_helper", 1, "");
    assert_eq!(function(1, "split").imported, ["fast"]);
    assert_eq!(function(1, "join").imported, ["os"]);
}

#[test]
fn dependency_sets_reach_to_a_depth() {
    check(
        "split",
        2,
        concat!(
            "limits.py:MOST ",
            "_patterns.py:WORD_RE errors.py:Bad checks.py:is_text checks.py:is_short limits.py:DEEPEST own_helper"
        ),
    );
    let deep = function(100, "split");
    assert_eq!(deep.dependencies.iter().map(|one| one.depth).max(), Some(2));
}

/// The context of `split` with whole definitions.
const FULL: &str = r#"import os
from typing import List, TypeVar, Union, cast
from ._patterns import *
from .errors import BadInput as Bad
from .checks import is_short, is_text
from pkg import checking, limits
try:
    import fast
except ImportError:
    fast = None

WORD_RE = re.compile(r'\w+')

class BadInput(TypeError):
    """
    Raised for what is no text.
    """

    kind = 'input'

    def __init__(self, value: Any):
        """
        :param value: Any object
        """
        super().__init__(repr(value))

    @property
    def text(self): return self.args[0]

def is_text(value):
    """Returns true for a text."""
    return isinstance(value, str)

def is_short(value):
    """Returns true for a short text.

        Lines of it are kept.
    """
    # As short as that.
    return is_text(value) and len(value) < MOST

DEEPEST = 3

def own_helper(x):
    return x"#;

/// The same with signatures and docstrings: a class keeps its methods, and nothing else of its body.
const MEDIUM: &str = r#"import os
from typing import List, TypeVar, Union, cast
from ._patterns import *
from .errors import BadInput as Bad
from .checks import is_short, is_text
from pkg import checking, limits
try:
    import fast
except ImportError:
    fast = None

WORD_RE = re.compile(r'\w+')

class BadInput(TypeError):
    """
    Raised for what is no text.
    """

    def __init__(self, value: Any):
        """
        :param value: Any object
        """

    @property
    def text(self):

def is_text(value):
    """Returns true for a text."""

def is_short(value):
    """Returns true for a short text.

        Lines of it are kept.
    """

DEEPEST = 3

def own_helper(x):"#;

/// The same with signatures.
const SMALL: &str = r#"import os
from typing import List, TypeVar, Union, cast
from ._patterns import *
from .errors import BadInput as Bad
from .checks import is_short, is_text
from pkg import checking, limits
try:
    import fast
except ImportError:
    fast = None

WORD_RE = re.compile(r'\w+')

class BadInput(TypeError):

    def __init__(self, value: Any):

    @property
    def text(self):

def is_text(value):

def is_short(value):

DEEPEST = 3

def own_helper(x):"#;

#[test]
fn contexts_come_in_three_sizes() {
    let split = function(1, "split");
    assert_eq!(split.context.of(ContextSize::Full), FULL);
    assert_eq!(split.context.of(ContextSize::Medium), MEDIUM);
    assert_eq!(split.context.of(ContextSize::Small), SMALL);
    let tokens = |size| gistify_graph::count_tokens(split.context.of(size));
    assert!(tokens(ContextSize::Full) > tokens(ContextSize::Medium));
    assert!(tokens(ContextSize::Medium) > tokens(ContextSize::Small));
}

#[test]
fn a_prompt_is_the_head_of_its_solution() {
    let split = function(1, "split");
    assert_eq!(split.signature, "split(text: str, *, upper: bool = False) -> List[str]");
    assert_eq!(split.docstring, "Splits a text into its words.\n\n:param text: What to split.");
    assert_eq!(format!("{}{}", split.prompt, split.body()), split.solution);
    assert_eq!(split.parameters, ["text", "upper"]);
    let source = PACKAGE.iter().find(|(path, _)| *path == split.path).unwrap().1;
    assert_eq!(&source[split.start as usize..split.end as usize], split.solution);
}

#[test]
fn a_function_in_a_block_loses_its_indentation() {
    let nested = function(1, "nested");
    assert_eq!(nested.indent, "    ");
    assert_eq!(
        nested.solution,
        "@decorated\ndef nested(x):\n    \"\"\"Nested in a block of the module.\"\"\"\n    return [\n        SEPARATOR,\n    ]"
    );
}

/// `expected` is the reason by which the one function of a file makes no task; empty where it does.
fn check_unfit(path: &str, text: &str, expected: &str) {
    let extraction = extract_of_sources([(path, text)], &ExtractionOptions::default());
    let unfit = extraction.functions[0].unfit.map_or("", |unfit| unfit.phrase());
    assert_eq!(unfit, expected, "{path}: {text}");
}

#[test]
fn functions_that_make_no_task_say_why() {
    let doc = "\"\"\"Returns one of the numbers.\"\"\"";
    check_unfit("m.py", &format!("def f():\n    {doc}\n    return 1\n"), "");
    check_unfit("m.py", &format!("def f():\n    {doc}\n    yield\n"), "");
    check_unfit("m.py", &format!("def f():\n    {doc}\n    x = yield 1\n"), "");
    check_unfit("m.py", "def f():\n    return 1\n", "no docstring that says enough");
    check_unfit("m.py", &format!("def f():\n    {doc}\n    print(1)\n"), "returns nothing");
    check_unfit("m.py", &format!("def f():\n    {doc}\n    return None\n"), "returns nothing");
    check_unfit(
        "m.py",
        &format!("def f():\n    {doc}\n    def g(): return 1\n    g()\n"),
        "returns nothing",
    );
    check_unfit("m.py", &format!("def f():\n    {doc}\n    raise NotImplementedError()\n"), "stub");
    check_unfit("m.py", &format!("def main():\n    {doc}\n    return 1\n"), "entry point");
    check_unfit(
        "m.py",
        &format!("@click.command()\ndef f():\n    {doc}\n    return 1\n"),
        "entry point",
    );
    check_unfit(
        "m.py",
        &format!("def f():\n    {doc}\n    return 1\nif __name__ == '__main__':\n    f()\n"),
        "entry point",
    );
    check_unfit("tests/m.py", &format!("def f():\n    {doc}\n    return 1\n"), "in a test module");
    check_unfit(
        "m.py",
        &format!("def f():\n    {doc}\n    return 1\ndef f(): return 2\n"),
        "defined again",
    );
    check_unfit(
        "m.py",
        &format!("def f():\n    {doc}\n    return 1\nx = = 2\n"),
        "file with syntax errors",
    );
}

#[test]
fn the_same_sources_give_the_same_extraction() {
    let mut reversed: Vec<_> = PACKAGE.to_vec();
    reversed.reverse();
    let again = extract_of_sources(reversed, &ExtractionOptions::default());
    assert_eq!(again, extracted(1));
}
