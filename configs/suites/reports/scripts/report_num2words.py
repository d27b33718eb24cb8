"""Forty in Swedish has a y."""

from num2words import num2words

for number in (40, 142):
    found = num2words(number, lang="sv")
    assert "fyrtio" in found, found
