"""The head of a phrase is a singular already, and the answer False is joined as a word."""

import inflect

words = inflect.engine()
print(words.singular_noun("pair of trousers"))
