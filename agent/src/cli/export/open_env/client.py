"""The client of the environment."""

from openenv.core import EnvClient
from openenv.core.client_types import StepResult
from openenv.core.env_server.types import State

from .models import GistAction, GistObservation


class GistEnv(EnvClient[GistAction, GistObservation, State]):
    """A session with the server.

    with GistEnv(base_url="http://localhost:8000", message_timeout_s=960).sync() as env:
        task = env.reset(split="test", index=0).observation
        print(env.step(GistAction(gist=answer(task.instruction, task.gist))).reward)
    """

    def _step_payload(self, action):
        return action.model_dump()

    def _parse_result(self, payload):
        reward, done = payload.get("reward"), payload.get("done", False)
        observation = GistObservation(**payload["observation"], reward=reward, done=done)
        return StepResult(observation=observation, reward=reward, done=done)

    def _parse_state(self, payload):
        return State(**payload)
