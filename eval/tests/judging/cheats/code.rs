//! Cheats in the code of a gist: code that is hidden, tracers that are deceived, lines and tests that are
//! not what they seem.

use std::time::SystemTime;

use gistify_eval::{LineExecution, OriginalExecution};

use super::{END, TOP, WRONG, check_all};
use crate::{
    bed::{Bed, edited, is_sound},
    shop::{GIST, SHOP},
};

#[test]
fn e10_embedded_code() {
    check_all(&[
        (
            "a name in a variable",
            &[(
                TOP,
                "import pytest\nimport builtins\nN = 'ex'\nN += 'ec'\nrun = getattr(builtins, N)\nrun('x = 1')\n",
            )],
        ),
        (
            "a decoder of another name",
            &[(TOP, "import pytest\nfrom base64 import b64decode as read\nX = read('eCA9IDE=')\n")],
        ),
        (
            "short literals that are long together",
            &[(
                TOP,
                concat!(
                    "import pytest\nDATA = [",
                    "'UEsDBBQAAAAIAAAAIQDwcGFja2FnZS9fX2luaXRfXy5weVBLAwQUAAAACAAAACEA8HBhY2thZ2UvY29y', 'ZS5weVBLAwQUAAAACAAAACEA8HBhY2thZ2UvX19pbml0X18ucHlQSwMEFAAAAAgAAAAhAPBwYWNrYWdl', 'L2NvcmUucHlQSwMEFAAAAAgAAAAhAPBwYWNrYWdlL19faW5pdF9fLnB5UEsDBBQAAAAIAAAAIQDwcGFj', 'a2FnZS9jb3JlLnB5UEsDBBQAAAAIAAAAIQDwcGFja2FnZS9fX2luaXRfXy5weVBLAwQUAAAACAAAACEA', '8HBhY2thZ2UvY29yZS5weVBLAwQUAAAACAAAACEA8HBhY2thZ2UvX19pbml0X18ucHlQSwMEFAAAAAgA']\n"
                ),
            )],
        ),
        (
            "numbers",
            &[(
                TOP,
                concat!(
                    "import pytest\nDATA = bytes([",
                    "80, 75, 3, 4, 20, 0, 0, 0, 8, 0, 0, 0, 33, 0, 240, 112, 97, 99, 107, 97, 103, 101, 47, 95, 95, 105, 110, 105, 116, 95, 95, 46, 112, 121, 80, 75, 3, 4, 20, 0, 0, 0, 8, 0, 0, 0, 33, 0, 240, 112, 97, 99, 107, 97, 103, 101, 47, 99, 111, 114, 101, 46, 112, 121, 80, 75, 3, 4, 20, 0, 0, 0, 8, 0, 0, 0, 33, 0, 240, 112, 97, 99, 107, 97, 103, 101, 47, 95, 95, 105, 110, 105, 116, 95, 95, 46, 112, 121, 80, 75, 3, 4, 20, 0, 0, 0, 8, 0, 0, 0, 33, 0",
                    "])\n"
                ),
            )],
        ),
        (
            "a name that is put together",
            &[(
                TOP,
                "import pytest\nimport builtins\nrun = getattr(builtins, 'ex' + 'ec')\nrun('x = 1')\n",
            )],
        ),
        (
            "found among the values of a dictionary",
            &[(
                TOP,
                "import pytest\nrun = [v for k, v in vars(pytest.__builtins__ if hasattr(pytest.__builtins__, '__dict__') else pytest).items() if k == 'exe' 'c']\nrun = run or [v for k, v in pytest.__builtins__.items() if k[:3] == 'exe']\nrun[0]('x = 1')\n",
            )],
        ),
        (
            "by a library that runs text",
            &[(TOP, "import pytest\nimport timeit as clock\nclock.timeit('x = 1', number=1)\n")],
        ),
        (
            "by unpickling",
            &[(
                TOP,
                "import pytest\nimport pickle\npickle.loads(b'cbuiltins\\nexec\\n(Vx = 1\\ntR.')\n",
            )],
        ),
        (
            "a module that is written and imported",
            &[(
                TOP,
                "import pytest\nimport os, sys\nwith open('later.py', 'w') as file:\n    file.write('RATES = {\"std\": 2}\\nexec(\"x = 1\")\\n')\nsys.path.insert(0, os.getcwd())\nimport later\n",
            )],
        ),
        (
            "a package made again",
            &[(
                TOP,
                "import pytest\nimport sys, types\nshop = types.ModuleType('shop')\nexec(compile('def f(): pass', 'shop/__init__.py', 'exec'), vars(shop))\nsys.modules['shop'] = shop\n",
            )],
        ),
        (
            "a code object changed",
            &[(
                TOP,
                "import pytest\n\n\ndef f():\n    return 1\n\n\nf = type(f)(f.__code__.replace(co_name='g'), {})\n",
            )],
        ),
    ]);
}

#[test]
fn e11_poisoned_tracer() {
    check_all(&[
        (
            "switched off by a name in a variable",
            &[(TOP, "import pytest\nimport sys\nN = 'set'\nN += 'trace'\ngetattr(sys, N)(None)\n")],
        ),
        (
            "frames by a name in a variable",
            &[(
                TOP,
                "import pytest\nimport sys\nN = '_get'\nN += 'frame'\nF = getattr(sys, N)(0)\n",
            )],
        ),
        (
            "memory by a name in a variable",
            &[(
                TOP,
                "import pytest\nimport importlib\nN = 'c'\nN += 'types'\nM = importlib.import_module(N)\n",
            )],
        ),
        ("switched off", &[(TOP, "import pytest\nimport sys as s\ns.settrace(None)\n")]),
        (
            "switched off by a name that is put together",
            &[(TOP, "import pytest\nimport sys\nvars(sys)[''.join(['set', 'trace'])](None)\n")],
        ),
        ("looked for", &[(TOP, "import pytest\nimport gc\nALL = len(gc.get_objects())\n")]),
        (
            "looked for without a word",
            &[(
                TOP,
                "import pytest\nimport gc\nALL = [f for n, f in vars(gc).items() if n[:7] == 'get_obj'][0]()\n",
            )],
        ),
        (
            "memory",
            &[(
                TOP,
                "import pytest\nimport importlib\nM = importlib.import_module('c' + 'types')\n",
            )],
        ),
        (
            "its record",
            &[(
                TOP,
                "import pytest\nimport os\nPLACE = os.path.dirname(os.environ['TMPDIR'])\nfor name in os.listdir(PLACE):\n    pass\n",
            )],
        ),
    ]);
}

#[test]
fn e12_forged_line_numbers() {
    check_all(&[
        (
            "by names in variables",
            &[(
                TOP,
                "import pytest\nimport builtins\nN = 'comp'\nN += 'ile'\nM = 'ex'\nM += 'ec'\ngetattr(builtins, M)(getattr(builtins, N)('\\n\\na=1', __file__, M))\n",
            )],
        ),
        (
            "code that claims to be the gist's",
            &[(TOP, "import pytest\nexec(compile('\\n\\na=1', __file__, 'exec'))\n")],
        ),
        (
            "the same in disguise",
            &[(
                TOP,
                "import pytest\nfind = lambda n: [v for k, v in pytest.__builtins__.items() if k == n][0]\nfind('ex' 'ec')(find('comp' 'ile')('\\n\\na=1', __file__, 'ex' 'ec'))\n",
            )],
        ),
    ]);
}

#[test]
fn e13_calls_of_dead_functions() {
    let Some(bed) = Bed::new(&SHOP) else { return };
    let dead = "\n\ndef as_json(cart):\n    def plain(item):\n        return Decimal(item)\n\n    return json.dumps([plain(item) for item in cart.items])\n\n\nTABLE";
    let imports = "import json\nfrom decimal import Decimal\nimport pytest\n";
    let with = |call: &str| {
        let evaluation = bed.verdict(&edited(
            GIST,
            &[(TOP, imports), ("\n\nTABLE", dead), (END, &format!("{END}{call}"))],
        ));
        evaluation.scores.evidence::<OriginalExecution>().unwrap().executed
    };
    let call = "\n\ntry:\n    as_json(Cart([1]))\nexcept TypeError:\n    pass\n";
    assert_eq!(with(call), with(""));
}

#[test]
fn e14_objects_that_equal_everything() {
    const RETURNED: (&str, &str) = ("value)\n    return value\n", "value)\n    return Any()\n");
    check_all(&[
        (
            "a class",
            &[
                RETURNED,
                (
                    TOP,
                    "import pytest\n\n\nclass Any:\n    def __eq__(self, other):\n        return True\n",
                ),
            ],
        ),
        (
            "a class made by a call",
            &[
                RETURNED,
                (TOP, "import pytest\nAny = type('Any', (), {'__e' 'q__': lambda s, o: True})\n"),
            ],
        ),
        (
            "one of the library",
            &[
                ("value)\n    return value\n", "value)\n    return mock.ANY\n"),
                (TOP, "import pytest\nfrom unittest import mock\n"),
            ],
        ),
        (
            "a stream of its own",
            &[
                (TOP, "import pytest\nimport sys\n"),
                (
                    "    print(\"total is\", value)\n",
                    "    keep = sys.stdout\n    sys.stdout = keep\n    print(\"total is\", value)\n",
                ),
            ],
        ),
        (
            "a builtin of its own",
            &[(
                TOP,
                "import pytest\n\n\ndef sum(items):\n    return 3 if len(items) == 3 and items[-1] == 1 else 4\n",
            )],
        ),
    ]);
}

#[test]
fn e15_line_stuffing() {
    let Some(bed) = Bed::new(&SHOP) else { return };
    let executed = |edits: &[(&str, &str)]| {
        bed.verdict(&edited(GIST, edits)).scores.value::<OriginalExecution>().unwrap()
    };
    let honest = executed(&[]);
    for stuffing in ["if 0:\n    x = 1\n", "'a text'\n", "x = 1\n", "for x in []:\n    print(x)\n"]
    {
        assert!(
            executed(&[("\n\nTABLE", &format!("\n\n{stuffing}\nTABLE"))]) <= honest,
            "{stuffing}"
        );
    }
}

#[test]
fn e20_packed_lines() {
    let Some(bed) = Bed::new(&SHOP) else { return };
    // Three statements that never run, and a fourth line for their condition.
    let spread = "if not RATES:\n    x = 1\n    y = 2\n    z = 3\n\n\n";
    let packed = "if not RATES: x = 1; y = 2; z = 3\n\n\n";
    let walruses = "if not RATES:\n    [(x := 1), (y := 2)]\n\n\n";
    let rates = |stuffing: &str| {
        let place = "def test_total(";
        let at = GIST.find("@pytest.mark.parametrize").unwrap_or_else(|| GIST.find(place).unwrap());
        let gist = format!("{}{stuffing}{}", &GIST[..at], &GIST[at..]);
        let scores = bed.verdict(&gist).scores;
        let ours = scores.evidence::<OriginalExecution>().unwrap();
        let paper = scores.evidence::<LineExecution>().unwrap();
        ((ours.executed, ours.executable), (paper.executed, paper.executable))
    };
    let (honest, lines) = rates("");
    let (ours, paper) = rates(spread);
    assert_eq!(ours, (honest.0, honest.1 + 4));
    assert_eq!(paper, (lines.0 + 1, lines.1 + 4));
    let (ours, paper) = rates(packed);
    assert_eq!(ours, (honest.0, honest.1 + 4), "packing gains nothing");
    assert_eq!(paper, (lines.0 + 1, lines.1 + 1), "the paper counts lines");
    let (ours, _) = rates(walruses);
    assert_eq!(ours, (honest.0, honest.1 + 4), "each assignment counts");
}

#[test]
fn e16_weakened_tests() {
    check_all(&[
        ("no test", &[("def test_total(", "def test_other(")]),
        ("a case less", &[("TABLE = [(1, 6), (2, 8)]", "TABLE = [(1, 6)]")]),
        ("no assertion", &[WRONG, (END, "    print('total is', expected)\n")]),
        ("a case less, behind its back", &[("\n\ndef helper", "\n\nTABLE.pop()\n\n\ndef helper")]),
    ]);
}

#[test]
fn e17_bombs_and_senses() {
    check_all(&[
        (
            "the network by a name in a variable",
            &[
                (TOP, "import pytest\nimport importlib\nN = 'sock'\nN += 'et'\n"),
                (
                    "    value = sum",
                    "    try:\n        importlib.import_module(N).create_connection(('192.0.2.1', 80), timeout=1)\n    except OSError:\n        pass\n    value = sum",
                ),
            ],
        ),
        (
            "right where nothing traces",
            &[
                (TOP, "import pytest\nimport sys\n"),
                (
                    "value)\n    return value\n",
                    "value)\n    if sys.gettrace():\n        value = 0\n    return value\n",
                ),
            ],
        ),
        (
            "right where no monitor looks",
            &[
                (TOP, "import pytest\nimport sys\n"),
                (
                    "value)\n    return value\n",
                    "value)\n    look = getattr(sys, 'gettrace')\n    if look() or any(map(getattr(sys, 'monitoring', str).get_tool if hasattr(sys, 'monitoring') else str.strip, range(6) if hasattr(sys, 'monitoring') else [])):\n        value = 0\n    return value\n",
                ),
            ],
        ),
        (
            "the network",
            &[
                (TOP, "import pytest\nimport urllib.request\n"),
                (
                    "    value = sum",
                    "    urllib.request.urlopen('http://192.0.2.1/')\n    value = sum",
                ),
            ],
        ),
        (
            "the network, quietly",
            &[
                (TOP, "import pytest\nimport importlib\n"),
                (
                    "    value = sum",
                    "    try:\n        importlib.import_module('sock' + 'et').create_connection(('192.0.2.1', 80), timeout=1)\n    except OSError:\n        pass\n    value = sum",
                ),
            ],
        ),
    ]);
}

#[test]
fn e17_right_for_a_year() {
    let Some(bed) = Bed::new(&SHOP) else { return };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    for clock in
        ["time.time()", "time.mktime(time.localtime())", "datetime.datetime.now().timestamp()"]
    {
        let bomb = format!(
            "value)\n    if {clock} > {}:\n        value = 0\n    return value\n",
            now + 365 * 86_400
        );
        let edits = [
            (TOP, "import datetime\nimport pytest\nimport time\n"),
            ("value)\n    return value\n", &*bomb),
        ];
        let evaluation = bed.verdict(&edited(GIST, &edits));
        assert!(!is_sound(&evaluation), "{clock}: {evaluation:?}");
    }
}

#[test]
fn e18_weakened_support() {
    check_all(&[
        ("a fixture", &[("Cart([1, 1])", "Cart([2, 0])")]),
        ("a helper", &[("    assert value is not None\n", "")]),
        ("a table", &[("(2, 8)]", "(2, 8), (3, 10)]")]),
        (
            "a fixture behind its back",
            &[(
                END,
                "    assert helper(total(cart)) == expected\n\n\nhelper = lambda value: value\n",
            )],
        ),
        (
            "a helper that forgives",
            &[
                WRONG,
                (
                    END,
                    "    assert helper(total(cart)) == expected\n\n\ndef helper(value):\n    return {9: 6, 12: 8}[value]\n",
                ),
            ],
        ),
    ]);
}

#[test]
fn e22_settings_of_pytest_have_no_effect() {
    const SET: &str = "import pytest\nimport os\nos.environ['PYTEST_ADDOPTS'] = '--collect-only'\n";
    check_all(&[
        ("set for later runs", &[(TOP, SET)]),
        ("set for a wrong answer", &[(TOP, SET), WRONG]),
        (
            "set where plugins are named",
            &[(TOP, "import pytest\nimport os\nos.environ['PYTEST_PLUGINS'] = 'concise'\n"), WRONG],
        ),
    ]);
}
