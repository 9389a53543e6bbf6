"""PyPI pycoinpayments from create to the verified IPN. Its address is a class attribute."""

from pycoinpayments import CoinPayments
from shop import API, LETTERS, Receiver, is_genuine, merchant, order, pay, refused, until, works

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
refused("create_withdrawal", client.create_withdrawal({"amount": 1, "currency": "BTC", "address": "none"}))
refused("get_callback_address", client.get_callback_address({"currency": "BTC"}))
