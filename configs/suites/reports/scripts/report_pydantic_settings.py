"""One variable with three delimiters is to fill dictionaries three levels deep."""

import os

from pydantic_settings import BaseSettings, SettingsConfigDict

os.environ["ROUTES__NORTH__FIRST__STOP"] = "harbour"


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_nested_delimiter="__")
    routes: dict[str, dict[str, dict[str, str]]]


print(Settings().routes)
