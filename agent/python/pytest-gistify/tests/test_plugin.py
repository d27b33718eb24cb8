"""The plugin in runs of pytest, with the real program on the path.

`agent/python/pytest-gistify/check` runs these with several versions of pytest and other plugins.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest_plugins = ["pytester"]

FAILING = {
    "pkg/__init__.py": "",
    "pkg/shop.py": """
        RATE = 3

        def price(amount):
            return amount * RATE

        def unused():
            return RATE
        """,
    "test_shop.py": """
        import pytest
        from pkg.shop import price

        def test_right():
            assert price(1) == 3

        def test_wrong():
            assert price(2) == 7
        """,
}


def project(pytester: pytest.Pytester, files: dict[str, str]) -> None:
    """Writes files, each with its indentation taken off, and a configuration."""
    import textwrap

    for name, text in {"pytest.ini": "[pytest]\npythonpath = .\n", **files}.items():
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip())


def run(pytester: pytest.Pytester, *args: str, limit: str | None = "--gist-timeout=0") -> pytest.RunResult:
    """Runs pytest in a process of its own, with no other plugin than the test asks for.

    Without a limit of time, so that no test depends on the machine.
    """
    limits = () if limit is None else (limit,)
    return pytester.runpytest_subprocess("-p", "pytest_gistify", *limits, *args)


def gists(result: pytest.RunResult) -> dict[str, str]:
    """Returns what the summary says, by node id."""
    found = {}
    for line in result.outlines:
        match = re.match(r"gist (\S+?)(?: -> |: )(.*)", line)
        if match:
            found[match[1]] = match[2]
    return found


def fails_alone(gist: Path, tmp_path: Path, message: str) -> None:
    """Asserts that a gist of a failure fails with this message by itself, in an empty directory."""
    copy = tmp_path / "alone" / gist.name
    copy.parent.mkdir()
    copy.write_text(gist.read_text())
    words = [sys.executable, copy.name]
    done = subprocess.run(words, cwd=copy.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert message in done.stdout + done.stderr


def needs(module: str) -> None:
    """Skips a test where a plugin of others is not installed."""
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")


def test_imports_nothing_without_the_flag() -> None:
    program = (
        "import sys, pytest; before = set(sys.modules); import pytest_gistify; "
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['pytest_gistify']"


def test_does_nothing_without_the_flag(pytester: pytest.Pytester) -> None:
    project(pytester, FAILING)
    (pytester.path / "conftest.py").write_text(
        "import sys\ndef pytest_unconfigure():\n"
        "    assert not [name for name in sys.modules if name.startswith('pytest_gistify.')]\n"
    )
    result = run(pytester)
    assert result.ret == 1
    assert gists(result) == {}
    assert not (pytester.path / ".gists").exists()


def test_writes_a_gist_of_a_failure(pytester: pytest.Pytester, tmp_path: Path) -> None:
    project(pytester, FAILING)
    result = run(pytester, "--gist", "test_shop.py", "--junitxml=junit.xml")
    assert result.ret == 1
    result.assert_outcomes(passed=1, failed=1)
    told = gists(result)
    assert list(told) == ["test_shop.py::test_wrong"]
    assert re.fullmatch(
        r"\.gists/shop_test_wrong\.py \(\d+ of \d+ lines, .+\)", told["test_shop.py::test_wrong"]
    )
    gist = pytester.path / ".gists" / "shop_test_wrong.py"
    assert "unused" not in gist.read_text()
    fails_alone(gist, tmp_path, "assert price(2) == 7")
    cases = ElementTree.parse(pytester.path / "junit.xml").iter("testcase")
    properties = {
        case.get("name"): {entry.get("name"): entry.get("value") for entry in case.iter("property")}
        for case in cases
    }
    assert properties["test_right"] == {}
    assert properties["test_wrong"]["gist"] == ".gists/shop_test_wrong.py"
    assert (pytester.path / ".gists" / ".gitignore").read_text().endswith("*\n")


def test_a_bare_flag_takes_no_argument_away(pytester: pytest.Pytester) -> None:
    project(
        pytester, {"tests/test_a.py": "def test_a(): pass\n", "other/test_b.py": "def test_b(): assert 0\n"}
    )
    result = run(pytester, "--gist", "tests")
    result.assert_outcomes(passed=1)
    assert result.ret == 0


def test_writes_the_gist_of_a_named_test(pytester: pytest.Pytester) -> None:
    project(pytester, FAILING)
    result = run(pytester, "--gist=test_shop.py::test_right", "--gist-dir=out")
    assert result.ret == 1
    assert list(gists(result)) == ["test_shop.py::test_right"]
    assert "price" in (pytester.path / "out" / "shop_test_right.py").read_text()
    result = run(pytester, "--gist=test_shop.py::test_other")
    assert gists(result)["test_shop.py::test_other"] == "no such test in this run"


def test_obeys_its_ini_keys(pytester: pytest.Pytester) -> None:
    cases = "".join(f"def test_{n}(): assert {n} > 9\n" for n in range(3))
    project(pytester, {"test_n.py": cases, "pytest.ini": "[pytest]\ngist_dir = made\ngist_max = 1\n"})
    result = run(pytester, "--gist")
    assert result.ret == 1
    assert gists(result)["test_n.py::test_0"].startswith("made/n_test_0.py")
    result.stdout.fnmatch_lines("gist: 2 more without one (--gist-max 1)")
    assert [path.name for path in (pytester.path / "made").glob("*.py")] == ["n_test_0.py"]


def test_a_test_that_hangs_ends_at_the_limit(pytester: pytest.Pytester) -> None:
    # It hangs from its second run on.
    hangs = """
        import os, time

        def test_it():
            if os.path.exists("ran"):
                time.sleep(10000)
            open("ran", "w").close()
            assert 0
        """
    project(pytester, {"test_h.py": hangs})
    result = run(pytester, "--gist", limit="--gist-timeout=2")
    assert result.ret == 1
    result.assert_outcomes(failed=1)
    (told,) = gists(result).values()
    assert told.startswith("nothing was reached within 2 s (--gist-timeout)"), told


def test_a_search_that_hangs_leaves_what_it_reached(pytester: pytest.Pytester) -> None:
    # Without one of its lines each loop is endless, and a run of that takes more than twenty seconds.
    loop = "    number = 0\n    while number < 3:\n        number += 1\n"
    project(pytester, {"test_l.py": f"def test_it():\n{loop * 8}    assert number == 4\n"})
    (pytester.path / "pytest.ini").write_text("[pytest]\ngist_timeout = 40\n")
    result = run(pytester, "--gist", limit=None)
    assert result.ret == 1
    told = gists(result)["test_l.py::test_it"]
    # A machine that is busy with other things may not come to a gist.
    reached = r"\.gists/l_test_it\.py \(\d+ (of \d+ )?lines, .*(not minimal|stopped after 40 s).*\)"
    assert re.fullmatch(rf"{reached}|nothing was reached within 40 s .*", told), told


def test_a_repro_that_was_not_run_again_names_its_needs() -> None:
    from pytest_gistify.gist import understood

    scores = {
        "kind": "repro",
        "lines": 9,
        "repository_lines": 20,
        "reproduced": 0,
        "runs": 0,
        "complete": False,
        "needs": ["data/large.csv"],
    }
    expected = "9 of 20 lines, not run again, not minimal, needs data/large.csv beside it"
    assert str(understood({"scores": scores})) == expected


def test_refuses_a_limit_that_is_no_time(pytester: pytest.Pytester) -> None:
    project(pytester, FAILING)
    for text in ("soon", "-1", "nan"):
        result = run(pytester, "--gist", limit=f"--gist-timeout={text}")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(f"*--gist-timeout: {text} is no number of seconds")


def test_says_that_the_program_is_missing(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("gistify"):
        pytest.skip("the program's distribution is installed")
    project(pytester, FAILING)
    monkeypatch.setenv("PATH", "/nowhere")
    result = run(pytester, "--gist")
    assert result.ret == 1
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines("gist: the program gistify is not installed (pip install gistify)")


def test_can_be_switched_off(pytester: pytest.Pytester) -> None:
    project(pytester, FAILING)
    result = run(pytester, "-p", "no:pytest_gistify", "-p", "no:gistify")
    assert result.ret == 1
    assert gists(result) == {}


def test_a_run_that_the_user_stops_has_no_gists(pytester: pytest.Pytester) -> None:
    project(
        pytester,
        {"test_i.py": "def test_a(): assert 0\ndef test_b(): raise KeyboardInterrupt\n"},
    )
    result = run(pytester, "--gist")
    assert result.ret == 2
    result.stdout.fnmatch_lines("gist: none is written, the run was interrupted")


def test_passes_options_on(pytester: pytest.Pytester, tmp_path: Path) -> None:
    project(
        pytester,
        {
            "own.py": "import pytest\n@pytest.fixture\ndef number(): return 4\n",
            "pytest.ini": "[pytest]\npythonpath = .\n",
            "test_o.py": "def test_o(number, pytestconfig):\n"
            "    assert pytestconfig.getini('xfail_strict') is True\n    assert number == 5\n",
        },
    )
    result = run(pytester, "--gist", "-p", "own", "-o", "xfail_strict=true")
    assert result.ret == 1
    assert gists(result)["test_o.py::test_o"].startswith(".gists/o_test_o.py")
    assert "return 4" in (pytester.path / ".gists" / "o_test_o.py").read_text()


def test_a_file_that_cannot_be_collected(pytester: pytest.Pytester) -> None:
    project(pytester, {"pkg/__init__.py": "raise ValueError('broken')\n", "test_c.py": "import pkg\n"})
    result = run(pytester, "--gist")
    assert result.ret == 2
    assert list(gists(result)) == ["test_c.py"]


def test_with_xdist(pytester: pytest.Pytester, tmp_path: Path) -> None:
    needs("xdist")
    project(pytester, FAILING)
    result = run(pytester, "--gist", "-n2", "--junitxml=junit.xml")
    assert result.ret == 1
    told = gists(result)
    assert list(told) == ["test_shop.py::test_wrong"]
    fails_alone(pytester.path / ".gists" / "shop_test_wrong.py", tmp_path, "assert price(2) == 7")
    assert "shop_test_wrong.py" in (pytester.path / "junit.xml").read_text()


@pytest.mark.parametrize(
    ("module", "test", "message"),
    [
        (
            "pytest_asyncio",
            """
            import pytest
            from pkg.shop import price

            @pytest.mark.asyncio
            async def test_it():
                assert price(2) == 8
            """,
            "assert price(2) == 8",
        ),
        (
            "anyio",
            """
            import pytest
            from pkg.shop import price

            @pytest.fixture
            def anyio_backend():
                return "asyncio"

            @pytest.mark.anyio
            async def test_it():
                assert price(2) == 9
            """,
            "assert price(2) == 9",
        ),
        (
            "hypothesis",
            """
            from hypothesis import given, strategies as st
            from pkg.shop import price

            @given(st.integers())
            def test_it(amount):
                assert price(amount) < 300
            """,
            "assert 300 < 300",
        ),
        (
            "unittest",
            """
            import unittest
            from pkg.shop import price

            class TestShop(unittest.TestCase):
                def test_it(self):
                    self.assertEqual(price(2), 10)
            """,
            "6 != 10",
        ),
    ],
)
def test_beside_other_plugins(
    pytester: pytest.Pytester, tmp_path: Path, module: str, test: str, message: str
) -> None:
    needs(module)
    project(pytester, {**FAILING, "test_shop.py": test})
    result = run(pytester, "--gist")
    assert result.ret == 1
    (told,) = gists(result).values()
    assert told.startswith(".gists/shop_"), told
    (gist,) = (pytester.path / ".gists").glob("*.py")
    fails_alone(gist, tmp_path, message)


def test_with_django(pytester: pytest.Pytester) -> None:
    needs("pytest_django")
    # Its settings are imported before there is a gist: the reason is told, and nothing else changes.
    project(
        pytester,
        {
            "site_settings.py": """
                SECRET_KEY = "x"
                INSTALLED_APPS = ["django.contrib.contenttypes"]
                DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
                USE_TZ = True
                """,
            "pytest.ini": "[pytest]\npythonpath = .\nDJANGO_SETTINGS_MODULE = site_settings\n",
            "pkg/__init__.py": "",
            "pkg/count.py": """
                from django.contrib.contenttypes.models import ContentType

                def kinds():
                    return ContentType.objects.count()
                """,
            "test_shop.py": """
                import pytest
                from pkg.count import kinds

                @pytest.mark.django_db
                def test_it():
                    assert kinds() == -1
                """,
        },
    )
    result = run(pytester, "--gist")
    assert result.ret == 1
    result.assert_outcomes(failed=1)
    (told,) = gists(result).values()
    assert told.startswith("no gist: the command fails"), told
