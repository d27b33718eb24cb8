//! Tests that a gist with probes in its stubs behaves as without them, and that the log lists the
//! called stubs.

use std::fs;

use gistify_tools::{PROBE_VARIABLE, Probed};
use graph::{Gist, GistLine, LineOrigin, Place, Plan};

use crate::{Project, pythons};

const PATH: &str = "a.py";

/// Probes the lines after each `# stub` of a program; `asked` are the first lines of the stubs in
/// the log.
#[track_caller]
fn check(program: &str, printed: &str, asked: &[&str]) {
    let mut gist = Gist::default();
    let mut plan = Plan::default();
    for (number, line) in (1u32..).zip(program.trim_start().lines()) {
        let place = Place { path: PATH.to_owned(), line: number };
        if gist.text.lines().last().is_some_and(|last| last.trim() == "# stub") {
            plan.stubs.push(place.clone());
        }
        gist.text.push_str(line);
        gist.text.push('\n');
        gist.lines.push(GistLine { origin: LineOrigin::Source(place), adapted: false });
    }
    let mut project = Project::new("");
    let log = project.root.join("log");
    project.variables.insert(PROBE_VARIABLE.to_owned(), log.to_string_lossy().into_owned());
    for (minor, _) in pythons::VERSIONS {
        let Some(environment) = pythons::environment(*minor) else { continue };
        for text in [&gist.text, &Probed::new(&gist, &plan).text] {
            fs::write(project.root.join(PATH), text).unwrap();
            let run = project.execute(&environment, "python a.py").unwrap();
            assert_eq!((run.stdout.as_str(), run.stderr.as_str()), (printed, ""), "3.{minor}");
        }
        let told = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(&log);
        let mut lines: Vec<&str> = told
            .lines()
            .map(|tag| tag.rsplit_once(':').unwrap().1.parse::<usize>().unwrap())
            .map(|number| gist.text.lines().nth(number - 1).unwrap().trim())
            .collect();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines, asked, "3.{minor}");
    }
}

#[test]
fn an_instance_has_what_it_was_given_before_what_its_class_has() {
    check(
        "
class Word:
    def __init__(self):
        self.read = self.quick
        vars(self)['kept'] = 1
    # stub
    def read(self):
        pass
    # stub
    def kept(self):
        pass
    def quick(self):
        return 'quick'
word = Word()
print(word.read(), word.kept)
del word.read
print(word.read(), sorted(vars(word)))
",
        "quick 1\nNone ['kept']\n",
        &["def read(self):"],
    );
}

#[test]
fn who_looks_for_what_is_not_there_asks_for_nothing() {
    check(
        "
import doctest, inspect, sys
class Word:
    # stub
    def kept(self):
        pass
    # stub
    def named(self):
        pass
# What collects the examples of docstrings looks at each function.
print(doctest.DocTestFinder().find(sys.modules[__name__]))
print(inspect.unwrap(vars(Word)['kept']) is vars(Word)['kept'], vars(Word)['named'].__name__)
",
        "[]\nTrue named\n",
        &["def named(self):"],
    );
}

#[test]
fn what_is_copied_is_the_same_function() {
    check(
        "
import copy
class Word:
    # stub
    def told(self):
        pass
    table = {'told': told}
print(copy.deepcopy(Word.table)['told'] is Word.table['told'], copy.copy(Word.table['told']) is Word.table['told'])
",
        "True True\n",
        &[],
    );
}

#[test]
fn what_a_function_says_of_itself_is_there() {
    check(
        "
class Word:
    # stub
    def told(self):
        'Says what it is.'
    # stub
    def kept(self):
        pass
print(vars(Word)['told'].__doc__, vars(Word)['kept'].__doc__)
",
        "Says what it is. None\n",
        &[],
    );
}

#[test]
fn what_a_class_takes_and_gives_itself_it_still_does() {
    check(
        "
import functools
class Field:
    def __set__(self, owner, value):
        print('set', value)
    def __get__(self, owner, kind=None):
        return 'got'
    def __delete__(self, owner):
        print('deleted')
class Gone:
    def __get__(self, owner, kind=None):
        return 'there'
    def __delete__(self, owner):
        print('gone')
class Checked:
    def __set__(self, owner, value):
        vars(owner)['checked'] = value
class Bare:
    def __init__(self, found):
        self.found = found
    def __call__(self, value):
        return self.found(value)
class Row:
    # stub
    def __init_subclass__(cls):
        print('subclass', cls.__name__)
    # stub
    @Bare
    def part(self):
        return 'part', self
    # stub
    @lambda found: Gone()
    def gone(self):
        pass
    # stub
    @lambda found: Checked()
    def checked(self):
        pass
    # stub
    def named(self):
        pass
    named.short = 'n'
    # stub
    @property
    def size(self):
        return 1
    # stub
    @functools.cached_property
    def total(self):
        print('counted')
        return 2
    # stub
    @lambda found: Field()
    def field(self):
        pass
    # stub
    @staticmethod
    def silent():
        pass
row = Row()
try:
    row.size = 2
except AttributeError:
    print('no setter')
print(row.total, row.total)
row.total = 3
print(row.total)
row.field = 4
print(row.field)
del row.field
vars(row)['gone'] = 5
print(row.gone, row.part(1))
del row.gone
row.checked = 6
print(row.checked, type(Row.checked).__name__, Row.named.short)
class Cell(Row):
    pass
",
        "no setter\ncounted\n2 2\n3\nset 4\ngot\ndeleted\nthere ('part', 1)\ngone\n6 Checked n\nsubclass Cell\n",
        &[
            "@Bare",
            "@functools.cached_property",
            "@lambda found: Checked()",
            "@lambda found: Field()",
            "@lambda found: Gone()",
            "@property",
            "def __init_subclass__(cls):",
            "def named(self):",
        ],
    );
}
