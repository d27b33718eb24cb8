"""A definite integral that is a plain fraction."""

from sympy import Rational, integrate, log, symbols

x = symbols("x")
area = integrate(x ** Rational(4, 3) * log(x), (x, 0, 1))
assert area.is_Rational and area == Rational(-9, 49), area
