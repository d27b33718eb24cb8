"""Says where pip would download from: its defaults, files and variables taken together."""
import json

from pip._internal.commands import create_command

options, _ = create_command("download").parse_args([])
print(json.dumps({
    "index": options.index_url,
    "more": list(options.extra_index_urls or []),
    "links": list(options.find_links or []),
    "trusted": list(options.trusted_hosts or []),
    "no_index": bool(options.no_index),
    "certificates": options.cert or "",
    "proxy": options.proxy or "",
}))
