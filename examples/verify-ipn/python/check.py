"""Prints the verdict of verify_ipn.py on each recorded delivery: python3 check.py recorded.json"""

import json
import sys

from verify_ipn import Refused, verify_ipn

with open(sys.argv[1], encoding="utf-8") as file:
    recorded = json.load(file)
seen = set()


def remember(key):
    is_new = key not in seen
    seen.add(key)
    return is_new


for delivery in recorded["deliveries"]:
    try:
        payment, notice, renewal = verify_ipn(
            delivery["body"].encode(),
            delivery["signature"],
            recorded["secret"],
            remember,
            now=delivery["received_at"],
        )
        verdict = "duplicate"
        if payment:
            verdict = f"accepted {payment['payment_status']}"
        if notice:
            verdict = f"notice {notice['_gateway']['notice']['type']} {notice['payment_status']}"
        if renewal:
            verdict = f"renewal {renewal['_gateway']['renewal']['day_offset']} {renewal['payment_status']}"
    except Refused as refusal:
        verdict = str(refusal)
    print(f"{delivery['name']}: {verdict}")
