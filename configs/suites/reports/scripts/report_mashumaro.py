"""A wrapper takes whatever can be serialized."""

from dataclasses import dataclass
from typing import Generic, Optional, TypeVar, Union

from mashumaro.mixins.json import DataClassJSONMixin
from mashumaro.mixins.yaml import DataClassYAMLMixin

Part = TypeVar("Part", bound=Union[DataClassYAMLMixin, DataClassJSONMixin])


@dataclass
class Parcel(Generic[Part], DataClassYAMLMixin, DataClassJSONMixin):
    inside: Optional[Part] = None


print(Parcel())
