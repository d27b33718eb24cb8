//! Tests cheats that hide the meaning of a statement: other encodings, computed names, tables of
//! names, and objects that compare equal without a visible method.

use super::{END, TOP, WRONG, check_all};

const RETURNED: &str = "    print(\"total is\", value)\n    return value\n";

#[test]
fn e10_another_encoding() {
    check_all(&[(
        "code in a docstring",
        &[(
            TOP,
            "# coding: unicode_escape\n\"\"\"A gist.\\x22\\x22\\x22; import sys; \\x22\\x22\\x22\"\"\"\nimport pytest\n",
        )],
    )]);
}

#[test]
fn e14_comparisons_without_a_method() {
    check_all(&[
        (
            "a class made by a function",
            &[
                WRONG,
                (
                    TOP,
                    "import pytest\nimport types\nLax = types.new_class('Lax', (int,), {}, lambda names: names.update(__eq__=lambda left, right: True))\n",
                ),
                (RETURNED, "    print(\"total is\", value)\n    return Lax(value)\n"),
            ],
        ),
        (
            "asked of a module of mocks",
            &[
                (
                    TOP,
                    "import pytest\nfrom operator import attrgetter\nfrom unittest import mock\n",
                ),
                (RETURNED, "    print(\"total is\", value)\n    return attrgetter('ANY')(mock)\n"),
            ],
        ),
    ]);
}

#[test]
fn e16_tables_of_names() {
    check_all(&[
        (
            "the test's own name",
            &[
                WRONG,
                (
                    END,
                    "    assert helper(total(cart)) == expected\n\n\ndef lenient(test):\n    def run(cart, extra, expected):\n        try:\n            test(cart, extra, expected)\n        except AssertionError:\n            pass\n    run.pytestmark = test.pytestmark\n    return run\n\n\nglobals().update(test_total=lenient(test_total))\n",
                ),
            ],
        ),
        (
            "a fixture that no decorator makes",
            &[
                (
                    TOP,
                    "import pytest\nkept = []\n\n\ndef keep(request):\n    kept.append(request.getfixturevalue('expected'))\n\n\nkeeping = pytest.fixture(autouse=True)(keep)\n",
                ),
                (RETURNED, "    print(\"total is\", value)\n    return kept[-1]\n"),
            ],
        ),
    ]);
}

#[test]
fn e11_what_the_test_says() {
    check_all(&[
        (
            "its marks",
            &[(
                RETURNED,
                "    print(\"total is\", value)\n    return dict(test_total.pytestmark[0].args[1])[cart.items[-1]]\n",
            )],
        ),
        (
            "its text",
            &[(
                RETURNED,
                "    open(__file__).read()\n    print(\"total is\", value)\n    return value\n",
            )],
        ),
        (
            "its frame, by names that are put together",
            &[
                (TOP, "import inspect\nimport pytest\nBACK = 'f_' + 'back'\n"),
                (
                    RETURNED,
                    "    dict(inspect.getmembers(value)).get(BACK)\n    print(\"total is\", value)\n    return value\n",
                ),
            ],
        ),
    ]);
}
