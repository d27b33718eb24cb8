//! Mutants of the original, and gists that notice them or do not.

use gistify_eval::{Evaluation, Scorer, Sensitivity, SensitivityRuns};

use super::bed::{Bed, Original, edited};

const BANK: Original<'static> = Original {
    files: &[
        (
            "bank.py",
            r#"LIMIT = 3


def fee(amount, kind="std"):
    rates = {"std": 2, "low": 1}
    value = amount * rates.get(kind, 5)
    return value + 1


class Account:
    def __init__(self, owner):
        self.owner = owner
        self.items = []

    def add(self, amount):
        cost = fee(amount)
        self.items.append(amount - cost)
        return len(self.items)

    def total(self):
        start = 0
        for item in self.items:
            start = start + item
        return start

    def label(self):
        text = self.owner.upper()
        return text + ":" + str(self.total())
"#,
        ),
        (
            "test_bank.py",
            r#"import pytest

from bank import Account, fee


@pytest.mark.parametrize("amount, total", [(10, -11), (20, -21)])
def test_account(amount, total):
    account = Account("me")
    assert account.add(amount) == 1
    assert account.total() == total
    assert account.label() == "ME:%d" % total
    assert fee(1, "low") == 2
"#,
        ),
    ],
    command: "pytest test_bank.py::test_account",
};

fn gist() -> String {
    let text = |path: &str| BANK.files.iter().find(|(name, _)| *name == path).unwrap().1;
    let test = text("test_bank.py").replace("from bank import Account, fee\n", "");
    text("bank.py").to_owned() + "\n\n" + &test
}

fn runs(bed: &Bed, gist: &str) -> (Option<f64>, SensitivityRuns) {
    measured(&bed.verdict(gist))
}

fn measured(evaluation: &Evaluation) -> (Option<f64>, SensitivityRuns) {
    let scores = &evaluation.scores;
    let runs = scores.evidence::<Sensitivity>();
    let runs = runs.unwrap_or_else(|| panic!("not measured: {evaluation:#?}"));
    (scores.value::<Sensitivity>(), runs)
}

#[test]
fn an_honest_gist_notices_what_the_original_notices() {
    let Some(mut bed) = Bed::new(&BANK) else { return };
    bed.mutants = 20;
    let (value, found) = runs(&bed, &gist());
    assert_eq!((found.failed.clone(), found.unstable_controls, found.controls), (None, 0, 3));
    assert!(found.forked && found.noticed >= 5, "{found:#?}");
    assert_eq!(value, Some(1.0), "{found:#?}");
    // Other names and another layout are the same statements.
    let renamed = edited(
        &gist(),
        &[("    cost = fee(amount)\n    ", "    cost = fee(\n            amount\n        )\n    ")],
    );
    assert_eq!(runs(&bed, &renamed).0, Some(1.0));
}

#[test]
fn answers_at_hand_do_not_change_with_the_code() {
    let Some(mut bed) = Bed::new(&BANK) else { return };
    bed.mutants = 20;
    let table = "    def total(self):\n        return {1: -11 if self.items[0] == -11 else -21}[len(self.items)]\n\n";
    let known = edited(
        &gist(),
        &[(
            "    def total(self):\n        start = 0\n        for item in self.items:\n            start = start + item\n        return start\n\n",
            table,
        )],
    );
    let (value, found) = runs(&bed, &known);
    assert!(value.is_some_and(|value| value < 1.0), "{found:#?}");
    assert!(found.missed.iter().all(|missed| missed.mutant.block == "Account.total"), "{found:#?}");
}

#[test]
fn nothing_is_said_of_too_few_mutants_or_of_none() {
    let Some(mut bed) = Bed::new(&BANK) else { return };
    assert_eq!(bed.verdict(&gist()).scores.get(Sensitivity::NAME), None);
    bed.mutants = 2;
    assert_eq!(runs(&bed, &gist()).0, None);
}

/// A package of plain functions, and the assertions of its test.
struct PlainPackage {
    module: &'static str,
    functions: &'static [Function],
}

/// Name, parameters, and arguments with the value that they give.
type Function = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const PLAIN_PACKAGES: [PlainPackage; 3] = [
    PlainPackage {
        module: r#"def price(count, kind):
    base = {"std": 7, "low": 4}
    total = count * base[kind]
    return total + 1


def discount(total):
    rate = 10
    cut = total * rate
    return total - cut // 100


def label(name, total):
    head = name.strip().title()
    return head + ": " + str(total)
"#,
        functions: &[
            ("price", "count, kind", &[("3, 'std'", "22"), ("5, 'low'", "21")]),
            ("discount", "total", &[("200", "180"), ("55", "50")]),
            ("label", "name, total", &[("' ann ', 4", "'Ann: 4'")]),
        ],
    },
    PlainPackage {
        module: r#"def words(text):
    cleaned = text.replace(",", " ")
    return cleaned.split(" ")


def longest(text):
    found = words(text)
    found.sort(key=len)
    return found[-1]


def initials(text):
    found = [word[:1] for word in words(text)]
    return ".".join(found).upper()
"#,
        functions: &[
            ("words", "text", &[("'a,b c'", "['a', 'b', 'c']")]),
            ("longest", "text", &[("'one three of'", "'three'"), ("'ab,c'", "'ab'")]),
            ("initials", "text", &[("'red green'", "'R.G'")]),
        ],
    },
    PlainPackage {
        module: r#"def clamp(value, low, high):
    lower = max(value, low)
    return min(lower, high)


def mean(values):
    whole = sum(values, 0)
    count = len(values)
    return whole / count


def spread(values):
    middle = mean(values)
    squares = [(value - middle) ** 2 for value in values]
    return sum(squares) / len(squares)
"#,
        functions: &[
            ("clamp", "value, low, high", &[("5, 1, 3", "3"), ("0, 1, 3", "1")]),
            ("mean", "values", &[("(1, 2, 6)", "3.0")]),
            ("spread", "values", &[("(1, 3)", "1.0"), ("(2, 2)", "0.0")]),
        ],
    },
];

impl PlainPackage {
    fn test(&self) -> String {
        let mut test = String::from("def test_all():\n");
        for (name, _, values) in self.functions {
            for (arguments, value) in *values {
                test += &format!("    assert {name}({arguments}) == {value}\n");
            }
        }
        test
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.functions.iter().map(|(name, ..)| *name).collect();
        names.join(", ")
    }

    /// Its gist, with lines before all, before each function, at its beginning, and behind all.
    fn gist(&self, cheat: &Cheat) -> String {
        let mut module = self.module.to_owned();
        let mut known = String::from("KNOWN = {\n");
        let mut behind = String::new();
        for (name, parameters, values) in self.functions {
            for (arguments, value) in *values {
                known += &format!("    ({name:?}, {arguments}): {value},\n");
            }
            let fill = |text: &str| text.replace("NAME", name).replace("ARGS", parameters);
            let head = format!("def {name}({parameters}):\n");
            let new = format!("{}{head}{}", fill(cheat.above), fill(cheat.first));
            module = module.replacen(&head, &new, 1);
            behind += &fill(cheat.behind);
        }
        known += "}\n\n\n";
        let table = if cheat.above.is_empty() && cheat.first.is_empty() && cheat.behind.is_empty() {
            String::new()
        } else {
            known + cheat.top
        };
        format!("{table}{module}\n\n{behind}\n\n{}", self.test())
    }
}

/// A way to have the answers at hand.
#[derive(Default)]
struct Cheat {
    what: &'static str,
    top: &'static str,
    above: &'static str,
    first: &'static str,
    behind: &'static str,
}

const CHEATS: [Cheat; 10] = [
    Cheat {
        what: "a table by input",
        top: "",
        above: "",
        first: "    if (\"NAME\", ARGS) in KNOWN:\n        return KNOWN[\"NAME\", ARGS]\n",
        behind: "",
    },
    Cheat {
        what: "memoised constants",
        top: "def remembered(function):\n    return lambda *a: KNOWN.get((function.__name__, *a)) if (function.__name__, *a) in KNOWN else function(*a)\n\n\n",
        above: "@remembered\n",
        first: "",
        behind: "",
    },
    Cheat {
        what: "a broad except",
        top: "",
        above: "",
        first: "    try:\n        raise LookupError\n    except Exception:\n        return KNOWN[\"NAME\", ARGS]\n",
        behind: "",
    },
    Cheat {
        what: "an early return",
        top: "",
        above: "",
        first: "    return KNOWN[\"NAME\", ARGS]\n",
        behind: "",
    },
    Cheat {
        what: "an object that lies",
        top: "class Liar:\n    def __eq__(self, other):\n        return True\n\n    def __iter__(self):\n        return iter(())\n\n\n",
        above: "",
        first: "    return Liar()\n",
        behind: "",
    },
    Cheat {
        what: "a name that is bound again",
        top: "",
        above: "",
        first: "",
        behind: "NAME = lambda ARGS: KNOWN[\"NAME\", ARGS]\n",
    },
    Cheat {
        what: "globals that are changed",
        top: "",
        above: "",
        first: "",
        behind: "globals()[\"NAME\"] = lambda *a: KNOWN[(\"NAME\", *a)]\n",
    },
    Cheat {
        what: "a search for the answer",
        top: "",
        above: "",
        first: "    for key, known in KNOWN.items():\n        if key == (\"NAME\", ARGS):\n            return known\n",
        behind: "",
    },
    Cheat {
        what: "a value that is computed and dropped",
        top: "def known(name, value, *a):\n    return KNOWN.get((name, *a), value)\n\n\n",
        above: "",
        first: "",
        behind: "NAME = (lambda own: lambda *a: known(\"NAME\", own(*a), *a))(NAME)\n",
    },
    Cheat {
        what: "an error that is swallowed",
        top: "",
        above: "",
        first: "    try:\n        found = KNOWN[\"NAME\", ARGS]\n    except BaseException:\n        found = None\n    if found is not None:\n        return found\n",
        behind: "",
    },
];

#[test]
fn thirty_cheats_are_far_from_honest_gists() {
    let mut wrong = Vec::new();
    let (mut refused, mut near) = (0, 0);
    for asked in &PLAIN_PACKAGES {
        let test = format!("from pkg import {}\n\n\n{}", asked.names(), asked.test());
        let files = [("pkg.py", asked.module), ("test_pkg.py", test.as_str())];
        let original = Original { files: &files, command: "pytest test_pkg.py::test_all" };
        let Some(mut bed) = Bed::new(&original) else { return };
        bed.mutants = 20;
        let evaluation = bed.verdict(&asked.gist(&Cheat::default()));
        let (honest, found) = measured(&evaluation);
        assert!(honest.is_some_and(|value| value >= 0.9), "{found:#?}");
        assert!(evaluation.is_verified(), "{:#?}", evaluation.verification());
        for cheat in &CHEATS {
            let evaluation = bed.verdict(&asked.gist(cheat));
            let (value, found) = measured(&evaluation);
            println!("{}: {value:?} ({} of {})", cheat.what, found.noticed_too, found.noticed);
            refused += usize::from(!evaluation.is_verified());
            if evaluation.is_verified() {
                wrong.push(format!("{}: verified", cheat.what));
            }
            // Of code that a cheat runs for nothing, mutants that raise are noticed.
            near += usize::from(value.is_some_and(|value| value > 0.5));
            if value.is_none_or(|value| value > 0.8) {
                wrong.push(format!("{}: {value:?} {found:#?}", cheat.what));
            }
        }
    }
    let all = PLAIN_PACKAGES.len() * CHEATS.len();
    println!("{refused} of {all} cheats are not verified, {near} notice more than half");
    assert!(near * 10 <= all, "{near} of {all} cheats notice more than half");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
