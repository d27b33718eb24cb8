"""A template with async support sorts what it has mapped."""

from jinja2 import Environment

environment = Environment(enable_async=True)
template = environment.from_string("{{ people | map(attribute='name') | sort | join(', ') }}")
print(template.render(people=[{"name": "Noor"}, {"name": "Ada"}]))
