"""JSON whose amounts keep their digits."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any, Dict, Union

from .contract import AMOUNT_FIELDS

_DECIMAL = re.compile(r"[0-9]+(\.[0-9]+)?")


def parse(text: Union[str, bytes]) -> Any:
    """Numbers with a fraction are Decimal, never float."""
    return json.loads(text, parse_float=Decimal)


def parse_payment(text: Union[str, bytes]) -> Any:
    """The same, and amounts are Decimal also where they have no fraction."""
    return json.loads(text, parse_float=Decimal, object_hook=_amounts)


def _amounts(found: Dict[str, Any]) -> Dict[str, Any]:
    for name in AMOUNT_FIELDS.intersection(found):
        if type(found[name]) is int:
            found[name] = Decimal(found[name])
    return found


def digits(amount: Any) -> str:
    """An amount in plain digits. A float is refused: it is not what was written."""
    if isinstance(amount, Decimal) and amount.is_finite():
        text = format(amount, "f")
    elif isinstance(amount, (int, str)) and not isinstance(amount, bool):
        text = str(amount)
    else:
        raise TypeError("an amount is a Decimal, an int, or a str of decimal digits")
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"not a decimal amount: {text!r}")
    return text


def write_payment(body: Dict[str, Any]) -> bytes:
    """`price_amount` as a JSON number with its digits."""
    rest = {name: value for name, value in body.items() if name != "price_amount"}
    amount = digits(body.get("price_amount"))
    return f'{{"price_amount":{amount},{json.dumps(rest)[1:]}'.encode()


def write(body: Any) -> bytes:
    """Amounts of payouts are text."""
    return json.dumps(body, default=digits).encode()
