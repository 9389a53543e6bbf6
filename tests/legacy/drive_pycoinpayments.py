"""PyPI pycoinpayments from create to the verified IPN. Its address is a class attribute."""

from pycoinpayments import CoinPayments
from shop import (
    API, LETTERS, RECIPIENT, Receiver, fund, is_genuine, merchant, order, pay, pay_address, refused, until, verified, works,
)

keys, secret = merchant("pycoinpayments")
receiver = Receiver()
CoinPayments._API_END_POINT = API
client = CoinPayments(private_key=keys["private_key"], public_key=keys["public_key"])

# It merges the result into the answer.
answer = client.get_basic_info()
works("get_basic_info", answer, answer["merchant_id"] == keys["merchant_id"])
answer = client.rates()
works("rates", answer, float(answer["BTC"]["rate_btc"]) == 1)
made = client.create_transaction(order(receiver, item_name=LETTERS))
works("create_transaction", made, made["error"] == "ok" and made["amount"] == "12.50000000")
pay(made)
works("the IPN", made, is_genuine(receiver, made, secret, LETTERS))
answer = until(lambda: (found := client.balances())["error"] == "ok" and "USDT.POL" in found and found)
works("balances", answer, float(answer["USDT.POL"]["balancef"]) == 12.5)
refused("create_transaction, unknown coin", client.create_transaction(order(receiver, currency2="NOCOIN")))
given = client.get_deposit_address({"currency": "USDT.POL"})
works("get_deposit_address", given, given["error"] == "ok" and given["address"].startswith("0x"))
given = client.get_callback_address({"currency": "USDT.POL", "ipn_url": receiver.url})
works("get_callback_address", given, given["error"] == "ok")
pay_address(given["address"], "3")
told = verified(receiver, given["address"], secret)
works("a deposit's IPN", told, told["amount"] == "3.00000000")
wanted = {"amount": 2, "currency": "USDT.POL", "address": RECIPIENT, "auto_confirm": 1, "ipn_url": receiver.url}
made = client.create_withdrawal(wanted)
works("create_withdrawal", made, made["error"] == "ok" and made["status"] == 1)
fund(made)
answer = until(lambda: (found := client.get_withdrawal_info({"id": made["id"]}))["status"] == 2 and found)
works("get_withdrawal_info", answer, answer["send_txid"].startswith("0x"))
refused("create_withdrawal, no address", client.create_withdrawal({"amount": 1, "currency": "USDT.POL", "address": "none"}))
