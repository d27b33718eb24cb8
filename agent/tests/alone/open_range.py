# An open range, as printers know it: expected are pages from 5 on, or a message that says it.
from boltons.strutils import format_int_list, parse_int_list


def pages(text, last):
    chosen = parse_int_list(text)
    return [page for page in chosen if page <= last]


print(format_int_list(pages("1-3,7", last=8)))
first, *rest = pages("1,5-", last=8)
print(first, rest)
