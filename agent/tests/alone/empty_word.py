# Words from a column that may be empty.
import inflect

engine = inflect.engine()
words = [("cat", "cats"), ("", "dogs")]
for one, other in words:
    verdict = engine.compare(one, other)
    print(one, other, verdict)
