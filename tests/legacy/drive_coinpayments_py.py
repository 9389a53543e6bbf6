"""PyPI coinpayments-py from create to the verified IPN. Its address is a class attribute: api_url."""

from coinpayments import CoinPaymentsAPI
from shop import API, LETTERS, Receiver, is_genuine, merchant, order, pay, refused, until, works

keys, secret = merchant("coinpayments-py")
receiver = Receiver()
CoinPaymentsAPI.api_url = API
client = CoinPaymentsAPI(keys["public_key"], keys["private_key"])


def complete(txn_id):
    answer = client.get_tx_info(txid=txn_id)
    return answer if answer["result"]["status"] == 100 else None


answer = client.get_basic_info()
works("get_basic_info", answer, answer["result"]["merchant_id"] == keys["merchant_id"])
answer = client.rates(short=1)
works("rates", answer, float(answer["result"]["BTC"]["rate_btc"]) == 1)
answer = client.create_transaction(**order(receiver, item_name=LETTERS))
made = works("create_transaction", answer, answer["error"] == "ok")["result"]
pay(made)
answer = until(lambda: complete(made["txn_id"]))
works("get_tx_info", answer, answer["result"]["receivedf"] == "12.50000000")
answer = client.get_tx_info_multi(txid=f"{made['txn_id']}|none")
works("get_tx_info_multi", answer, answer["result"][made["txn_id"]]["error"] == "ok")
answer = client.get_tx_ids(limit=5)
works("get_tx_ids", answer, answer["result"] == [made["txn_id"]])
answer = client.balances()
works("balances", answer, float(answer["result"]["USDT.POL"]["balancef"]) == 12.5)
body, signature = receiver.of(made["txn_id"])
client.private_key = secret
works("check_signature", body, client.check_signature(body, signature))
works("the IPN's fields", body, is_genuine(receiver, made, secret, LETTERS))
client.private_key = keys["private_key"]
refused("get_tx_info, unknown id", client.get_tx_info(txid="none"))
refused("create_transaction, unknown coin", client.create_transaction(**order(receiver, currency2="NOCOIN")))
refused("create_withdrawal", client.create_withdrawal(amount=1, currency="BTC", address="none"))
