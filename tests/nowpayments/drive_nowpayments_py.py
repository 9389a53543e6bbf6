"""PyPI nowpayments-py from create to finished. Its address is an option: base_url."""

from nowpayments import NowPayments, NowPaymentsError
from shop import BASE_URL, Receiver, merchant, pay, refused, told, until, works

key, secret = merchant("nowpayments-py")
receiver = Receiver()
client = NowPayments({"api_key": key, "base_url": BASE_URL, "ipn_secret": secret})


def create(call, **more):
    given = {"price_amount": 12.5, "price_currency": "usd", "pay_currency": "usdtmatic", "ipn_callback_url": receiver.url, **more}
    made = client.create_payment(given)
    return works(call, made, made["payment_status"] == "waiting" and made["pay_amount"] == 12.5 and made["pay_address"])


def finished(payment):
    answer = client.get_payment_status(payment["payment_id"])
    return answer if answer["payment_status"] == "finished" else None


def refusal(call, ask):
    try:
        answer = ask()
    except NowPaymentsError as error:
        return refused(call, error.status_code, error.code)
    raise SystemExit(f"{call}: {answer}")


answer = client.get_status()
works("get_status", answer, answer == {"message": "OK"})
answer = client.get_currencies()
works("get_currencies", answer, "usdtmatic" in answer["currencies"])
answer = client.get_full_currencies()
works("get_full_currencies", answer, any(c["code"] == "USDTMATIC" and c["enable"] for c in answer["currencies"]))
answer = client.get_merchant_coins()
works("get_merchant_coins", answer, "USDTMATIC" in answer["selectedCurrencies"])
answer = client.get_estimate_price({"amount": 25, "currency_from": "usd", "currency_to": "ltc"})
works("get_estimate_price", answer, float(answer["estimated_amount"]) > 0)
answer = client.get_min_amount({"currency_from": "usd", "currency_to": "ltc"})
works("get_min_amount, fiat to coin", answer, answer["min_amount"] > 0)
refusal("get_min_amount, coin to fiat", lambda: client.get_min_amount({"currency_from": "ltc", "currency_to": "usd"}))
payment = create("create_payment", order_id="A-1", order_description="2 x coffee")
accented = client.create_payment({
    "price_amount": 12.5, "price_currency": "usd", "pay_currency": "usdtmatic", "ipn_callback_url": receiver.url,
    "order_description": "2 × café",
})
pay(payment)
pay(accented)
answer = until(lambda: finished(payment))
works("get_payment_status", answer, answer["actually_paid"] == 12.5 and answer["order_id"] == "A-1")
answer = client.get_payments({"limit": 5})
works("get_payments", answer, answer["total"] == 2 and len(answer["data"]) == 2)
answer = client.create_invoice({"price_amount": 30, "price_currency": "usd", "order_id": "A-2"})
works("create_invoice", answer, answer["invoice_url"].endswith(answer["id"]))
body, signature = receiver.of(payment["payment_id"])
works("verify_ipn", body, client.verify_ipn(body, signature) and not client.verify_ipn(body, "00" * 64))
body, signature = receiver.of(accented["payment_id"])
told("verify_ipn, letters beyond ASCII", "works" if client.verify_ipn(body, signature) else "refuses a genuine IPN")
answer = client.get_balance()
told("get_balance", "our shape" if set(answer) == {"balances", "fiat_currency"} else f"{answer}")
refusal("get_payment_status, unknown id", lambda: client.get_payment_status("pzi_none"))
refusal("create_payment, unknown coin", lambda: client.create_payment({"price_amount": 5, "price_currency": "usd", "pay_currency": "nocoin"}))
refusal("get_currency", lambda: client.get_currency("ltc"))
refusal("get_auth_token", lambda: client.get_auth_token("a@shop.example", "secret"))
refusal("update_payment_estimate", lambda: client.update_payment_estimate(payment["payment_id"]))
refusal("create_invoice_payment", lambda: client.create_invoice_payment({"iid": "1", "pay_currency": "ltc"}))
