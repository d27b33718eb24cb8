"""A fake pathlib of its own shows an empty root."""

from pyfakefs.fake_filesystem import FakeFilesystem
from pyfakefs.fake_pathlib import FakePathlibModule

pathlib = FakePathlibModule(FakeFilesystem())
found = [entry.name for entry in pathlib.Path("/").iterdir()]
assert "usr" not in found, "the real root is listed"
