"""An environment of OpenEnv: the functions of a gist are its tasks."""

from .client import GistEnv
from .models import GistAction, GistObservation

__all__ = ["GistAction", "GistEnv", "GistObservation"]
