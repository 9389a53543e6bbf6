"""PyPI asyncoinpayments from create to the verified IPN. Its address is an attribute: base_url."""

import asyncio
import time

from asyncoinpayments import AsynCoinPayments
from shop import API, LETTERS, PATIENCE, RECIPIENT, Receiver, fund, is_genuine, merchant, pay, refused, works

keys, secret = merchant("asyncoinpayments")
receiver = Receiver()


def client():
    made = AsynCoinPayments(keys["private_key"], keys["public_key"])
    made.base_url = API
    return made


def said(answer):
    return {"error": answer.error, "result": answer.result}


async def complete(api, txn_id):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        answer = await api.get_tx_info(txn_id, full=True)
        if answer.result["status"] == 100:
            return answer
        await asyncio.sleep(1.5)
    raise SystemExit("it did not become complete")


async def sent(api, withdrawal_id):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        answer = await api.get_withdrawal_info(withdrawal_id)
        if answer.result["status"] == 2:
            return answer
        await asyncio.sleep(1.5)
    raise SystemExit("it was not sent")


async def drive():
    api = client()
    answer = await api.get_basic_info()
    works("get_basic_info", said(answer), answer.result["merchant_id"] == keys["merchant_id"])
    answer = await api.rates(short=False, only_accepted=True)
    works("rates", said(answer), answer.result["USDT.POL"]["accepted"] == 1)
    fields = {"ipn_url": receiver.url, "item_name": LETTERS}
    answer = await api.create_transaction(12.5, "ada@example.com", "USDT.POL", **fields)
    made = answer.result
    works("create_transaction", said(answer), made["amount"] == "12.50000000")
    pay(made)
    answer = await complete(api, made["txn_id"])
    works("get_tx_info", said(answer), answer.result["checkout"]["item_name"] == LETTERS)
    answer = await api.get_tx_ids(limit=5)
    works("get_tx_ids", said(answer), answer.result == [made["txn_id"]])
    answer = await api.coin_balance("USDT.POL")
    works("coin_balance", answer, float(answer["result"]["balancef"]) == 12.5)
    works("the IPN", made, is_genuine(receiver, made, secret, LETTERS))
    refused("get_tx_info, unknown id", said(await api.get_tx_info("none")))
    answer = await api.get_deposit_address("USDT.POL")
    works("get_deposit_address", said(answer), answer.result["address"].startswith("0x"))
    # Without an ipn_url it sends the word None.
    answer = await api.get_callback_address("USDT.POL")
    works("get_callback_address", said(answer), answer.result["address"].startswith("0x"))
    wanted = {"base_currency": "USD", "address": RECIPIENT, "ipn_url": receiver.url}
    answer = await api.create_withdrawal(2, "USDT.POL", auto_confirm=True, **wanted)
    made = answer.result
    works("create_withdrawal", said(answer), made["status"] == 1 and made["amount"] == "2.00000000")
    fund(made)
    answer = await sent(api, made["id"])
    works("get_withdrawal_info", said(answer), answer.result["send_txid"].startswith("0x"))
    # Without a currency of the amount it sends the word None.
    answer = await api.create_withdrawal(2, "USDT.POL", **wanted | {"base_currency": None})
    later = answer.result["id"]
    works("create_withdrawal, not confirmed", said(answer), answer.result["status"] == 0)
    answer = await api.get_withdrawal_history(limit=5)
    works("get_withdrawal_history", said(answer), [one["id"] for one in answer.result] == [later, made["id"]])
    answer = await api.cancel_withdrawal(later)
    works("cancel_withdrawal", said(answer), answer.error == "ok")
    refused("cancel_withdrawal, sent", said(await api.cancel_withdrawal(made["id"])))


asyncio.run(drive())
