# The plugin works with the renderer for HTML, and not with the one for reStructuredText.
import mistune
from mistune.renderers.rst import RSTRenderer

SOURCE = "Some ~~struck~~ text\n"

to_html = mistune.create_markdown(plugins=["strikethrough"])
assert "<del>struck</del>" in to_html(SOURCE)
to_rst = mistune.create_markdown(renderer=RSTRenderer(), plugins=["strikethrough"])
rst = to_rst(SOURCE)
print(rst)
