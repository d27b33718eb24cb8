import sys
from pkg.core import again, go

def test_y(capsys):
    assert "pkg.heavy" not in sys.modules
    assert go(3) == 9
    assert again(2) == 4
    assert capsys.readouterr().out == "before\ntable loaded\nheavy loaded True\n"
