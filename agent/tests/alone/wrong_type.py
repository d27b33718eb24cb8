# One of two words is a number, as a table from a spreadsheet has them.
import textdistance

pairs = [("night", "nacht"), ("2024", 2024)]
for left, right in pairs:
    similarity = textdistance.editex.normalized_similarity(left, right)
    print(left, right, round(similarity, 2))
