import unittest
from pkg.core import double
class TestX(unittest.TestCase):
    def test_y(self):
        for x in (0, 1, 2):
            with self.subTest(x=x):
                self.assertEqual(double(x), 2)
