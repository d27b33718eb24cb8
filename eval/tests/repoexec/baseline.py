"""Times what scoring completions costs at least: each completion put into a copy of its repository, and its cases run by
pytest once, on two workers, without a sandbox.

    python baseline.py PROBLEMS.jsonl GENERATIONS.jsonl CACHE [WORKERS]

CACHE is the cache directory of gistify, which has the repositories and environments. It prints the seconds and how many
completions pass; `gistify repoexec eval` on the same files is what they are compared with.
"""

import glob
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time


def rows(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def root_of(cache, source, path):
    """The directory of a release in the cache that has a file."""
    name, version = source.removeprefix("pypi:").split("==")
    places = glob.glob(f"{cache}/**/{name.replace('-', '[-_]')}-{version}*/{path}", recursive=True)
    return min((place[: -len(path)].rstrip("/") for place in places), key=len)


def python_of(cache, source):
    """The interpreter of the environment that was made for a release."""
    name = source.removeprefix("pypi:").split("==")[0]
    for record in glob.glob(f"{cache}/environments/*/**/*.json", recursive=True):
        with open(record, encoding="utf-8", errors="replace") as file:
            if name in file.read():
                python = glob.glob(os.path.join(record.split("/environments/")[0], "environments", record.split("/environments/")[1].split("/")[0], "**/bin/python"), recursive=True)
                if python:
                    return python[0]
    raise SystemExit(f"no environment of {source} in {cache}")


def main():
    problems, generations, cache = sys.argv[1:4]
    workers = int(sys.argv[4]) if len(sys.argv) > 4 else 2
    problems = {row["id"]: row for row in rows(problems)}
    jobs = queue.Queue()
    for row in rows(generations):
        jobs.put(row)
    interpreters = json.loads(os.environ.get("BASELINE_PYTHONS", "{}"))
    roots = {}
    for row in problems.values():
        source = row["source"]["repository"]
        if source not in roots:
            roots[source] = (
                root_of(cache, source, row["function"]["path"]),
                interpreters.get(source) or python_of(cache, source),
            )
    passed = []

    def work():
        copies = {}
        while True:
            try:
                row = jobs.get_nowait()
            except queue.Empty:
                return
            problem = problems[row["problem"]]
            source = problem["source"]["repository"]
            root, python = roots[source]
            if source not in copies:
                copies[source] = os.path.join(tempfile.mkdtemp(), "copy")
                shutil.copytree(root, copies[source], symlinks=True)
            copy, function = copies[source], problem["function"]
            path = os.path.join(copy, function["path"])
            with open(path, encoding="utf-8") as file:
                original = file.read()
            data = original.encode()
            spliced = data[: function["start"]] + row["answer"].encode() + data[function["end"] :]
            with open(path, "wb") as file:
                file.write(spliced)
            entries = [copy, os.path.join(copy, "src")]
            ran = subprocess.run(
                [python, "-m", "pytest", "-q", "-x", *problem["tests"]["cases"]],
                cwd=copy,
                env={**os.environ, "PYTHONPATH": ":".join(entries)},
                capture_output=True,
            )
            passed.append(ran.returncode == 0)
            with open(path, "w", encoding="utf-8") as file:
                file.write(original)
        for copy in copies.values():
            shutil.rmtree(copy, ignore_errors=True)

    began = time.monotonic()
    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{time.monotonic() - began:.1f} seconds, {sum(passed)} of {len(passed)} completions pass")


main()
