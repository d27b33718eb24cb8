import pytest
from pkg.core import double
@pytest.mark.slow
def check_y():
    assert double(2) == 4
