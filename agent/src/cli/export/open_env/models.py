"""The answers and the observations of the environment."""

from openenv.core.env_server.types import Action, Observation
from pydantic import Field


class GistAction(Action):
    """An answer to a task."""

    gist: str = Field(..., description="The whole file, with the body of the function")


class GistObservation(Observation):
    """A task, and after a step the verdict on its answer."""

    task: str = Field(default="", description="The name of the task")
    instruction: str = Field(default="", description="The words of the task")
    gist: str = Field(default="", description="The file without the body of the function")
    cases: float = Field(default=0.0, description="The share of the tests that end as they did before")
    verdict: str = Field(default="", description="The reason of the reward")
