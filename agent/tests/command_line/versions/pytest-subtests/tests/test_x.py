from pkg.core import double
def test_y(subtests):
    for x in (0, 1, 2):
        with subtests.test("doubled", x=x):
            print(x)
            assert double(x) == 2
