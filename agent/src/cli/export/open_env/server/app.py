"""Serves the tasks of a gist: an episode is one task, an action the whole file, the reward the judge's."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import uuid

from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import State

try:
    from ..models import GistAction, GistObservation
except ImportError:
    from models import GistAction, GistObservation

PLACE = pathlib.Path(__file__).resolve().parent
TASKS = json.loads((PLACE / "tasks.json").read_text(encoding="utf-8"))


def judge(text, function):
    """Returns the reward and the share of cases of a file, and the judge's last line."""
    with tempfile.TemporaryDirectory() as directory:
        candidate, reward = pathlib.Path(directory, "gist.py"), pathlib.Path(directory, "reward.json")
        candidate.write_text(text, encoding="utf-8")
        python = os.environ.get("GIST_PYTHON", sys.executable)
        program = [python, "-B", PLACE / "judge.py", PLACE / "original.py", candidate, function, reward]
        done = subprocess.run(program, stdout=subprocess.PIPE, text=True)
        found = json.loads(reward.read_text())
        return float(found["reward"]), found["cases"], done.stdout.splitlines()[-1]


class GistEnvironment(Environment):
    """One task at a time: `reset` chooses it, `step` judges an answer and ends the episode."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self._task = TASKS[0]
        self._state = State()

    def _observation(self, **verdict):
        task = {key: self._task[key] for key in ("task", "instruction", "gist")}
        return GistObservation(**task, **verdict)

    def reset(self, seed=None, episode_id=None, split="test", index=None, **_):
        """Chooses the task of an index, or one by the seed."""
        self._task = self.get_task(split, (seed or 0) % len(TASKS) if index is None else index)
        self._state = State(episode_id=episode_id or str(uuid.uuid4()))
        return self._observation()

    def step(self, action, timeout_s=None, **_):
        """Judges a file."""
        self._state.step_count += 1
        reward, cases, verdict = judge(action.gist, self._task["function"])
        return self._observation(reward=reward, done=True, cases=cases, verdict=verdict)

    @property
    def state(self):
        return self._state

    def list_splits(self):
        return ["test"]

    def list_tasks(self, split):
        return self.get_task_range(split)

    def num_tasks(self, split):
        return len(self.list_tasks(split))

    def get_task(self, split, index):
        return self.list_tasks(split)[index]

    def get_task_range(self, split, start=None, stop=None):
        if split not in self.list_splits():
            raise IndexError(f"there is no split {split}")
        return TASKS[start:stop]


app = create_app(GistEnvironment, GistAction, GistObservation, env_name="@NAME@", max_concurrent_envs=16)


def main():
    """Runs the server: uv run --project . server --port 8000."""
    import uvicorn

    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="0.0.0.0")
    parser.add_argument("--port", type=int, default=8000)
    arguments = parser.parse_args()
    uvicorn.run(app, host=arguments.host, port=arguments.port)


if __name__ == "__main__":
    main()
