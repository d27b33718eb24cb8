"""A base factory is to hand a flag down to those made from it."""

from polyfactory.factories import DataclassFactory
from polyfactory.factories.base import T


class Base(DataclassFactory[T]):
    __is_base_factory__ = True
    __set_as_default_factory_for_type__ = True


print(Base)
