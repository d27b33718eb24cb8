# Emphasis inside a list of stars ends in an IndexError; other Markdown renders the text as it stands.
import mistletoe

print(mistletoe.markdown("*one* and **two**"))
text = "*:****:*/*/*:****/*"
html = mistletoe.markdown(text)
print(html)
