"""PyPI coinpayments-py from create to the verified IPN. Its address is a class attribute: api_url."""

from coinpayments import CoinPaymentsAPI
from shop import (
    API, LETTERS, RECIPIENT, Receiver, fund, is_genuine, merchant, order, pay, pay_address, refused, until, verified, works,
)

keys, secret = merchant("coinpayments-py")
receiver = Receiver()
CoinPaymentsAPI.api_url = API
client = CoinPaymentsAPI(keys["public_key"], keys["private_key"])


def complete(txn_id):
    answer = client.get_tx_info(txid=txn_id)
    return answer if answer["result"]["status"] == 100 else None


def sent(withdrawal_id):
    answer = client.get_withdrawal_info(id=withdrawal_id)
    return answer if answer["result"]["status"] == 2 else None


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
answer = client.get_deposit_address(currency="USDT.POL")
works("get_deposit_address", answer, answer["result"]["address"].startswith("0x"))
answer = client.get_callback_address(currency="USDT.POL", ipn_url=receiver.url, label="user 7")
given = works("get_callback_address", answer, answer["error"] == "ok")["result"]
pay_address(given["address"], "3")
told = verified(receiver, given["address"], secret)
works("a deposit's IPN", told, told["amount"] == "3.00000000" and told["label"] == "user 7")
wanted = {"amount": 2, "currency": "USDT.POL", "address": RECIPIENT, "auto_confirm": 1, "ipn_url": receiver.url}
answer = client.create_withdrawal(**wanted, add_tx_fee=1)
withdrawal = works("create_withdrawal", answer, answer["error"] == "ok")["result"]
fund(withdrawal)
answer = until(lambda: sent(withdrawal["id"]))
works("get_withdrawal_info", answer, answer["result"]["send_txid"].startswith("0x"))
works("a withdrawal's IPN", wanted, until(lambda: verified(receiver, withdrawal["id"], secret)["status"] == "2"))
answer = client.get_withdrawal_history(limit=5)
works("get_withdrawal_history", answer, [one["id"] for one in answer["result"]] == [withdrawal["id"]])
answer = client.create_mass_withdrawal(**{"wd[a][amount]": 1, "wd[a][currency]": "USDT.POL", "wd[a][address]": RECIPIENT})
works("create_mass_withdrawal", answer, answer["result"]["a"]["error"] == "ok" and answer["result"]["a"]["status"] == 0)
refused("create_withdrawal, no address", client.create_withdrawal(amount=1, currency="USDT.POL", address="none"))
