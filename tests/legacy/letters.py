"""Reads IPNs, one JSON object a line, and verifies each twice: over its raw bytes, and over its fields encoded again."""

import hashlib
import hmac
import json
import sys
import urllib.parse


def encoded(text):
    return urllib.parse.quote_plus(text, safe="!*'()")


verified = 0
for line in sys.stdin:
    ipn = json.loads(line)

    def signed(text):
        return hmac.new(ipn["secret"].encode(), text.encode(), hashlib.sha512).hexdigest()

    parsed = urllib.parse.parse_qsl(ipn["body"], keep_blank_values=True, strict_parsing=True)
    again = "&".join(f"{encoded(name)}={encoded(value)}" for name, value in parsed)
    same = [list(field) for field in parsed] == ipn["fields"]
    if signed(ipn["body"]) != ipn["hmac"] or signed(again) != ipn["hmac"] or not same:
        sys.exit(f"{ipn['body']}\n{again}\n{ipn['fields']}")
    verified += 1
print(verified)
