"""PyPI nowpayment from create to finished. Its address is an attribute that is set: base_url."""

import json

from nowpayment import IPNVerificationError, NowPayments, NowPaymentsAPIError, verify_ipn_payload
from shop import BASE_URL, Receiver, merchant, pay, refused, told, until, works

key, secret = merchant("nowpayment")
receiver = Receiver()
# Its list asks for a token; any will do, for the key is what counts here.
client = NowPayments(key, jwt_token="none")
client.base_url = f"{BASE_URL}/v1"


def create(description):
    return client.payment.create_payment(12.5, "usd", "usdtmatic", receiver.url, "A-1", order_description=description)


def finished(payment):
    answer = client.payment.get_payment_status(payment["payment_id"])
    return answer if answer["payment_status"] == "finished" else None


def refusal(call, ask):
    try:
        answer = ask()
    except NowPaymentsAPIError as error:
        return refused(call, error.status_code, error.response["code"])
    raise SystemExit(f"{call}: {answer}")


def is_genuine(payment):
    body, signature = receiver.of(payment["payment_id"])
    try:
        return verify_ipn_payload(json.loads(body), secret, signature)["payment_status"] == "finished"
    except IPNVerificationError:
        return False


answer = client.get_api_status()
works("get_api_status", answer, answer["message"] == "OK")
answer = client.currency.get_available_currencies()
works("currency.get_available_currencies", answer, "usdtmatic" in answer["currencies"])
answer = client.currency.get_available_currencies_v2(as_model=True)
works("currency.get_available_currencies_v2", answer, any(c.code == "USDTMATIC" for c in answer.currencies))
answer = client.currency.get_available_checked_currencies()
works("currency.get_available_checked_currencies", answer, "USDTMATIC" in answer["selectedCurrencies"])
answer = client.payment.get_estimated_price(25, "usd", "ltc", as_model=True)
works("payment.get_estimated_price", answer, float(answer.estimated_amount) > 0)
answer = client.payment.get_minimum_payment_amount("usd", "ltc", as_model=True)
works("payment.get_minimum_payment_amount, fiat to coin", answer, answer.min_amount > 0)
refusal("payment.get_minimum_payment_amount, coin to fiat", lambda: client.payment.get_minimum_payment_amount("ltc", "usd"))
payment = create("2 x coffee")
works("payment.create_payment", payment, payment["payment_status"] == "waiting" and payment["pay_amount"] == 12.5)
accented = create("2 × café")
pay(payment)
pay(accented)
answer = until(lambda: finished(payment))
works("payment.get_payment_status", answer, answer["actually_paid"] == 12.5)
answer = client.payment.get_payment_list(limit=5, as_model=True)
works("payment.get_payment_list", answer, answer.total == 2 and answer.data[0].payment_id)
answer = client.payment.create_invoice(30, "usd", order_id="A-2", as_model=True)
works("payment.create_invoice", answer, answer.invoice_url.endswith(answer.id))
works("verify_ipn_payload", payment, is_genuine(payment))
told("verify_ipn_payload, letters beyond ASCII", "works" if is_genuine(accented) else "refuses a genuine IPN")
refusal("payment.get_payment_status, unknown id", lambda: client.payment.get_payment_status("pzi_none"))
refusal("payment.get_payment_estimated", lambda: client.payment.get_payment_estimated(payment["payment_id"]))
refusal("payment.create_invoice_payment", lambda: client.payment.create_invoice_payment("1", "ltc"))
