// Made by sdk/generate.py from api/openapi.json; do not edit.
/** Fields that are JSON numbers on the wire and exact decimal strings here. */
export const AMOUNT_FIELDS = new Set(["actually_paid", "amount_from", "amount_received", "estimated_amount", "max_amount", "min_amount", "min_amount_usd", "min_usd", "pay_amount", "price_amount"]);
