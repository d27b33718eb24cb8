"""The marker of a requirement has a release candidate as its bound."""

from poetry.core.packages.dependency import Dependency

found = Dependency.create_from_pep_508('wheelhouse ; python_full_version > "3.14rc1.0"')
print(found)
