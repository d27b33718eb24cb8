# Numbers are fine as a value, and not beside an attribute.
import xmltodict

print(xmltodict.unparse({"price": 3}))
with open("out.xml", "w") as file:
    xmltodict.unparse({"price": {"@currency": "EUR", "#text": 3}}, output=file)
