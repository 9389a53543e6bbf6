"""The gateway's API, version 1."""

from __future__ import annotations

import time
import uuid
from decimal import Decimal
from typing import Any, Callable, Iterator, List, Mapping, Optional, TypedDict, Union

from . import contract, exact
from .errors import Conflict
from .transport import PATIENT, Request, Send, Transport, items, segment, send_by_urllib
from .x402 import X402

Amount = Union[Decimal, int, str]


class _PageInfo(TypedDict):
    limit: int
    page: int
    pagesCount: int
    total: int


class PayoutPage(_PageInfo):
    data: List[contract.PayoutOrder]


class ItemPage(_PageInfo):
    data: List[contract.PayoutItem]


class NcPayoutPage(_PageInfo):
    data: List[contract.NcPayout]


def _text(body: bytes) -> str:
    return body.decode()


def _key(given: Optional[str]) -> str:
    return str(uuid.uuid4()) if given is None else given


class Gateway:
    """Safe to share between threads.

    timeout: seconds of one attempt.
    retry_for: seconds after which a call is not attempted again.
    max_wait: seconds of `Retry-After` that a call may spend waiting.
    send: another HTTP client; see transport.Send.
    """

    def __init__(
        self, base_url: str, api_key: Optional[str] = None, *, timeout: float = 30, retry_for: float = 60,
        max_wait: float = 5, send: Send = send_by_urllib, sleep: Callable[[float], None] = time.sleep,
    ):
        self._transport = Transport(base_url, api_key, timeout, retry_for, max_wait, send, sleep)
        self.payments = Payments(self._transport)
        # On bitcoin, litecoin and dogecoin.
        self.mass_payouts = MassPayouts(self._transport, "/v1/mass-payout")
        # On the EVM networks.
        self.evm_mass_payouts = MassPayouts(self._transport, "/v1/evm-mass-payout")
        # Those that you sign yourself.
        self.nc_payouts = NcPayouts(self._transport)
        # Payments of programs over HTTP.
        self.x402 = X402(self._transport)

    def status(self) -> contract.Alive:
        """`{"message": "OK"}` while the gateway is alive."""
        return self._transport.send(Request("GET", "/v1/status"))

    def currencies(self) -> contract.Currencies:
        """The currencies on offer."""
        return self._transport.send(Request("GET", "/v1/currencies", read=exact.parse_payment))

    def estimate(
        self, amount: Amount, currency_from: str, currency_to: str, network: Optional[str] = None
    ) -> contract.Estimate:
        """A price in a currency, now; not binding."""
        query = {
            "amount": exact.digits(amount), "currency_from": currency_from, "currency_to": currency_to, "network": network,
        }
        return self._transport.send(Request("GET", "/v1/estimate", query, read=exact.parse_payment))

    def min_amount(
        self, currency_to: str, currency_from: Optional[str] = None, network: Optional[str] = None
    ) -> contract.MinAmount:
        """The smallest payment in a currency."""
        query = {"currency_to": currency_to, "currency_from": currency_from, "network": network}
        return self._transport.send(Request("GET", "/v1/min-amount", query, read=exact.parse_payment))

    def events(
        self, *, after: Optional[str] = None, type: Optional[str] = None, limit: int = 100
    ) -> Iterator[contract.Event]:
        """Everything that happened behind the event `after`, oldest first, also what has no webhook.

        It ends where there is no more now. Act once per event_id, and keep the last one: it is the
        next `after`. Waits out the rate limit.
        """
        while True:
            query = {"after": after, "type": type, "limit": limit}
            page = self._transport.send(
                Request("GET", "/v1/events", query, read=exact.parse_payment, max_wait=PATIENT))
            yield from page["data"]
            if not page["has_more"]:
                return
            after = page["next"]

    def event(self, id: str) -> contract.Event:
        """One event, with every attempt to deliver its webhook."""
        return self._transport.send(Request("GET", f"/v1/events/{segment(id)}", read=exact.parse_payment))

    def resend_event(self, id: str) -> contract.Event:
        """Sends an event's webhook again, under the same event_id.

        While attempts are under way it changes nothing.
        """
        return self._transport.send(Request("POST", f"/v1/events/{segment(id)}/resend", read=exact.parse_payment))

    def resend_events(
        self, *, after: Optional[str] = None, from_: Optional[str] = None, to: Optional[str] = None,
        type: Optional[str] = None, state: Optional[str] = None,
    ) -> List[str]:
        """Sends the webhooks of many events again: all that failed, if nothing narrows it.

        Returns the event_ids of those that were started. Waits out the rate limit. from_ and to are
        times, such as 2026-01-31T12:00:00Z; state: dead, dropped or delivered.
        """
        started: List[str] = []
        while True:
            given = {"after": after, "from": from_, "to": to, "type": type, "state": state}
            body = exact.write({name: value for name, value in given.items() if value is not None})
            page = self._transport.send(Request("POST", "/v1/events/resend", body=body, max_wait=PATIENT))
            started += page["event_ids"]
            if not page["has_more"]:
                return started
            after = page["next"]

    def test_webhook(self, type: str, url: Optional[str] = None) -> contract.WebhookTestResult:
        """Sends a signed sample to a receiver now, and returns what it said.

        The sample says that it is a test. Without a url it goes where such webhooks go.
        """
        body = exact.write({"type": type} if url is None else {"type": type, "url": url})
        return self._transport.send(Request("POST", "/v1/webhooks/test", body=body))

    def balance(self, fiat: Optional[str] = None) -> contract.Balance:
        """What the ledger says you have, per currency and network."""
        return self._transport.send(Request("GET", "/v1/balance", {"fiat": fiat}))

    def sandbox_deposit(self, *, amount: Amount, **more: Any) -> contract.SandboxDeposit:
        """Sandbox only: pays an invoice, or an address of yours, on the simulated chain.

        more: the other fields of contract.NewSandboxDeposit, payment_id in most cases. It is one
        payment however often it is attempted, as its txid says.
        """
        body = exact.write({"txid": uuid.uuid4().hex, "amount": exact.digits(amount), **more})
        return self._transport.send(Request("POST", "/v1/sandbox/deposit", body=body))

    def sandbox_expire(self, payment_id: str) -> contract.Payment:
        """Sandbox only: ends the time to pay an invoice."""
        body = exact.write({"payment_id": payment_id})
        return self._transport.send(Request("POST", "/v1/sandbox/expire", body=body, read=exact.parse_payment))


class Payments:
    def __init__(self, transport: Transport):
        self._transport = transport

    def create(
        self, *, price_amount: Amount, price_currency: str, pay_currency: str, idempotency_key: Optional[str] = None,
        **more: Any,
    ) -> contract.Payment:
        """Creates an invoice, once per idempotency key: a random one if none is given.

        more: the other fields of contract.NewPayment, such as order_id and ipn_callback_url.
        """
        body = {"price_amount": price_amount, "price_currency": price_currency, "pay_currency": pay_currency, **more}
        return self._transport.send(Request(
            "POST", "/v1/payment", body=exact.write_payment(body), idempotency_key=_key(idempotency_key),
            read=exact.parse_payment,
        ))

    def get(self, id: str) -> contract.PaymentDetail:
        """An invoice by its payment_id, or by your own order_id."""
        return self._get(id, None)

    def _get(self, id: str, max_wait: Optional[float]) -> contract.PaymentDetail:
        path = f"/v1/payment/{segment(id)}"
        return self._transport.send(Request("GET", path, read=exact.parse_payment, max_wait=max_wait))

    def list(
        self, *, limit: Optional[int] = None, page: Optional[int] = None, sort_by: Optional[str] = None,
        order_by: Optional[str] = None,
    ) -> contract.PaymentList:
        """sort_by: created_at or updated_at; order_by: desc or asc."""
        return self._list({"limit": limit, "page": page, "sortBy": sort_by, "orderBy": order_by}, None)

    def _list(self, query: Mapping[str, Any], max_wait: Optional[float]) -> Any:
        return self._transport.send(
            Request("GET", "/v1/payment", query, read=exact.parse_payment, max_wait=max_wait))

    def each(self, *, limit: int = 100, order_by: str = "asc") -> Iterator[contract.Payment]:
        """All invoices, oldest first, so that new ones come last. Waits out the rate limit."""
        query = {"limit": limit, "orderBy": order_by}
        return items(lambda page: self._list({**query, "page": page}, PATIENT), "payment_id")

    def deposits(self, id: str, *, limit: Optional[int] = None) -> contract.PaymentDeposits:
        """What reached the address of an invoice, also unconfirmed or in another currency."""
        return self._transport.send(Request("GET", f"/v1/payment/{segment(id)}/deposits", {"limit": limit}))

    def buyer_status(self, id: str) -> contract.BuyerStatus:
        """The buyer's view. The id is the credential."""
        path = f"/v1/invoices/{segment(id)}/status"
        return self._transport.send(Request("GET", path, read=exact.parse_payment))

    def wait(self, id: str, *, timeout: float = 1800, interval: float = 3) -> contract.PaymentDetail:
        """Looks until the invoice is finished, expired or failed, or the time is up.

        Returns it as it is then. A webhook tells you sooner and at no cost: this is for scripts.
        """
        until = time.monotonic() + timeout
        while True:
            payment = self._get(id, PATIENT)
            is_over = payment["payment_status"] in ("finished", "expired", "failed")
            if is_over or time.monotonic() + interval > until:
                return payment
            self._transport.sleep(interval)


class MassPayouts:
    """Both families of mass payouts: the operations are the same."""

    def __init__(self, transport: Transport, path: str):
        self._transport, self._path = transport, path

    def create(
        self, *, network: str, currency: str, items: List[contract.NewPayoutItem], idempotency_key: Optional[str] = None,
        **more: Any,
    ) -> contract.PayoutOrder:
        """Creates a draft with its quote. Its idempotency key is kept for ever.

        more: the other fields of contract.NewPayout, such as refundAddress and callbackUrl.
        """
        body = exact.write({"network": network, "currency": currency, "items": items, **more})
        return self._data(Request("POST", self._path, body=body, idempotency_key=_key(idempotency_key)))

    def create_csv(
        self, csv: str, *, network: str, currency: str, idempotency_key: Optional[str] = None, **more: str
    ) -> contract.PayoutOrder:
        """The same from a file with a heading: address, amount, and if wanted reference, memo."""
        query = {"network": network, "currency": currency, **more}
        return self._data(Request(
            "POST", self._path, query, csv.encode(), "text/csv", idempotency_key=_key(idempotency_key)))

    def get(self, id: str) -> contract.PayoutOrder:
        return self._data(Request("GET", f"{self._path}/{segment(id)}"))

    def list(
        self, *, limit: Optional[int] = None, page: Optional[int] = None, state: Optional[str] = None
    ) -> PayoutPage:
        return self._page("", {"limit": limit, "page": page, "state": state}, None)

    def each(self, *, limit: int = 100, state: Optional[str] = None) -> Iterator[contract.PayoutOrder]:
        """All orders, newest first."""
        query = {"limit": limit, "state": state}
        return items(lambda page: self._page("", {**query, "page": page}, PATIENT), "id")

    def items(
        self, id: str, *, limit: Optional[int] = None, page: Optional[int] = None, state: Optional[str] = None
    ) -> ItemPage:
        return self._page(f"/{segment(id)}/items", {"limit": limit, "page": page, "state": state}, None)

    def each_item(
        self, id: str, *, limit: int = 100, state: Optional[str] = None
    ) -> Iterator[contract.PayoutItem]:
        """All recipients of an order, in the order of its rows."""
        path, query = f"/{segment(id)}/items", {"limit": limit, "state": state}
        return items(lambda page: self._page(path, {**query, "page": page}, PATIENT), "id")

    def batches(self, id: str) -> List[contract.PayoutBatch]:
        return self._data(Request("GET", f"{self._path}/{segment(id)}/batches"))

    def confirm(
        self, id: str, *, quote_id: Optional[str] = None, accept_total_raw: Optional[str] = None
    ) -> contract.PayoutOrder:
        """Gives the order its deposit address. Name the quote that you were shown, and no other is taken."""
        given = {"quoteId": quote_id, "acceptTotalRaw": accept_total_raw}
        body = exact.write({name: value for name, value in given.items() if value is not None})
        return self._data(Request("POST", f"{self._path}/{segment(id)}/confirm", body=body))

    def refresh_quote(self, id: str) -> contract.PayoutOrder:
        return self._data(Request("POST", f"{self._path}/{segment(id)}/refresh-quote"))

    def cancel(self, id: str) -> contract.PayoutOrder:
        """Cancels it; what came in goes back to refundAddress. Repeating it changes nothing."""
        try:
            return self._data(Request("POST", f"{self._path}/{segment(id)}/cancel"))
        except Conflict as error:
            # An earlier attempt, whose answer was lost, has cancelled it.
            if isinstance(error.details, dict) and error.details.get("state") == "cancelled":
                return self.get(id)
            raise

    def report_csv(self, id: str) -> str:
        """One line per recipient."""
        return self._transport.send(Request("GET", f"{self._path}/{segment(id)}/report.csv", read=_text))

    def template_csv(self) -> str:
        return self._transport.send(Request("GET", f"{self._path}/template.csv", read=_text))

    def _data(self, request: Request) -> Any:
        return self._transport.send(request)["data"]

    def _page(self, path: str, query: Mapping[str, Any], max_wait: Optional[float]) -> Any:
        return self._transport.send(Request("GET", self._path + path, query, max_wait=max_wait))


class NcPayouts:
    """Payouts that the merchant signs."""

    def __init__(self, transport: Transport):
        self._transport = transport

    def create(
        self, *, network: str, currency: str, fromAddress: str, outputs: List[contract.NewNcOutput],
        idempotency_key: Optional[str] = None, **more: Any,
    ) -> contract.NcPayout:
        """Builds what is to be signed. more: feeLevel; inputs on bitcoin-like networks."""
        given = {"network": network, "currency": currency, "fromAddress": fromAddress, "outputs": outputs, **more}
        return self._post("", given, _key(idempotency_key))

    def get(self, id: str) -> contract.NcPayout:
        return self._transport.send(Request("GET", f"/v1/nc-payout/{segment(id)}"))["data"]

    def list(
        self, *, limit: Optional[int] = None, page: Optional[int] = None, state: Optional[str] = None
    ) -> NcPayoutPage:
        return self._page({"limit": limit, "page": page, "state": state}, None)

    def each(self, *, limit: int = 100, state: Optional[str] = None) -> Iterator[contract.NcPayout]:
        """All payouts, newest first."""
        query = {"limit": limit, "state": state}
        return items(lambda page: self._page({**query, "page": page}, PATIENT), "id")

    def submit(self, id: str, signed: List[str]) -> contract.NcPayout:
        """Hands in all signed transactions; they are sent until a block holds them."""
        return self._post(f"/{segment(id)}/submit", {"signed": signed})

    def refresh(self, id: str, fee_level: Optional[str] = None) -> contract.NcPayout:
        """Builds it again, with the fees of now and the same nonces or inputs."""
        return self._post(f"/{segment(id)}/refresh", {} if fee_level is None else {"feeLevel": fee_level})

    def cancel(self, id: str) -> contract.NcPayout:
        return self._post(f"/{segment(id)}/cancel", None)

    def _page(self, query: Mapping[str, Any], max_wait: Optional[float]) -> Any:
        return self._transport.send(Request("GET", "/v1/nc-payout", query, max_wait=max_wait))

    def _post(self, path: str, body: Optional[Mapping[str, Any]], key: Optional[str] = None) -> Any:
        text = None if body is None else exact.write(body)
        return self._transport.send(Request("POST", "/v1/nc-payout" + path, body=text, idempotency_key=key))["data"]
