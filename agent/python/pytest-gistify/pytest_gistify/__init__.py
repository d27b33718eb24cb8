"""The options of `pytest --gist`. Without the flag nothing else of the package is imported."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import pytest

#: The value of a bare `--gist`. No node id is empty.
FAILURES = ""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares the options and the ini keys."""
    group = parser.getgroup("gist", "one-file reproducers (gistify)")
    group.addoption(
        "--gist",
        nargs="?",
        const=FAILURES,
        default=None,
        metavar="NODEID",
        help="write a one-file reproducer of each failure, or of the test NODEID, when all tests have run",
    )
    group.addoption(
        "--gist-dir",
        default=None,
        metavar="DIR",
        help="directory of the reproducers, relative to the root directory [default: .gists]",
    )
    group.addoption(
        "--gist-max",
        type=int,
        default=None,
        metavar="N",
        help="most reproducers of one run [default: 5]",
    )
    group.addoption(
        "--gist-timeout",
        default=None,
        metavar="SECONDS",
        help="time for one reproducer; what is reached by then is kept, 0 for no limit [default: 120]",
    )
    parser.addini("gist_dir", "directory of the reproducers of --gist", default=".gists")
    parser.addini("gist_max", "most reproducers of one run with --gist", default="5")
    parser.addini("gist_timeout", "seconds for one reproducer of --gist, 0 for no limit", default="120")


def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> None:
    """Keeps a bare `--gist` from taking the next argument for its value.

    `pytest --gist tests/` runs `tests/`: a node id is given with `=` alone.
    """
    options = args[: args.index("--")] if "--" in args else args
    bare = [at for at, word in enumerate(options) if word == "--gist"]
    if bare:
        import copy

        for at in bare:
            args[at] = f"--gist={FAILURES}"
        early_config.known_args_namespace = parser.parse_known_args(
            args, namespace=copy.copy(early_config.option)
        )


def pytest_configure(config: pytest.Config) -> None:
    """Registers the part that works, in the process that controls the run."""
    if config.getoption("gist") is None or hasattr(config, "workerinput"):
        return
    from .session import GistSession

    config.pluginmanager.register(GistSession.of(config), "gistify-session")
