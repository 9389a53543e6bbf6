"""Says what verify_payout_webhook.py makes of each recorded delivery: python3 check.py recorded.json"""

import json
import sys

from verify_payout_webhook import Refused, verify_payout_webhook

with open(sys.argv[1], encoding="utf-8") as file:
    recorded = json.load(file)
seen = set()


def remember(event_id):
    is_new = event_id not in seen
    seen.add(event_id)
    return is_new


for delivery in recorded["deliveries"]:
    try:
        event = verify_payout_webhook(
            delivery["body"].encode(),
            delivery["signature"],
            recorded["secret"],
            remember,
            now=delivery["received_at"],
        )
        verdict = f"accepted {event['eventType']} {event['order']['state']}" if event else "duplicate"
    except Refused as refusal:
        verdict = str(refusal)
    print(f"{delivery['name']}: {verdict}")
