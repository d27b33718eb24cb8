import pytest
from pkg.core import double
@pytest.mark.quick
@pytest.mark.parametrize("x", [1, 2], ids=["one", "two"])
def test_y(x):
    assert double(x) == x + x
