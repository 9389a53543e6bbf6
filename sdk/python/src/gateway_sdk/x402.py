"""Payments of programs over HTTP (x402)."""

from __future__ import annotations

import asyncio
import base64
import json
import posixpath
import threading
import time
import uuid
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

from . import exact
from .transport import Request, Transport, segment

# Terms change rarely; a price that you change holds after this.
TERMS_FOR = 60.0

# Reads a header of the request by its name in lower case.
Header = Callable[[str], Optional[str]]


class Charge(NamedTuple):
    """The outcome of one request for a resource."""

    # Deliver only then, and add `headers` to what you answer.
    paid: bool
    headers: Dict[str, str]
    # What the gateway said of the payment; None without one.
    settlement: Optional[Mapping[str, Any]]
    # What to answer with status 402 otherwise.
    body: bytes


class X402:
    def __init__(self, transport: Transport):
        self._transport = transport
        self._terms: Dict[str, Tuple[float, Mapping[str, Any]]] = {}
        self._lock = threading.Lock()

    def create(
        self, url: str, price_amount: str, *, description: Optional[str] = None, mime_type: Optional[str] = None,
        networks: Optional[List[str]] = None, timeout_seconds: Optional[int] = None, listed: Optional[bool] = None,
    ) -> Mapping[str, Any]:
        """Sells a resource: gives it an address, and the terms that programs are asked for.

        price_amount: in USD, as text.
        """
        fields = {
            "url": url, "price_amount": price_amount, "description": description, "mime_type": mime_type,
            "networks": networks, "timeout_seconds": timeout_seconds, "listed": listed,
        }
        body = json.dumps({name: value for name, value in fields.items() if value is not None}).encode()
        return self._transport.send(Request("POST", "/v1/x402/resources", body=body, read=exact.parse_payment))

    def get(self, id: str) -> Mapping[str, Any]:
        """A resource by its resource_id."""
        return self._transport.send(Request("GET", f"/v1/x402/resources/{segment(id)}", read=exact.parse_payment))

    def charge(self, id: str, header: Header) -> Charge:
        """Charges one request for a resource.

        A payment that was used before, also at another copy of your server, is none.
        """
        resource = self._resource(id)
        payment = _decode(header("payment-signature")) or _decode(header("x-payment"))
        if payment is None:
            return _required(resource, "Payment required")
        requirements = _chosen(resource, payment)
        if requirements is None:
            return _required(resource, "invalid_payment_requirements")
        version = payment.get("x402Version")
        body = json.dumps(
            {"x402Version": version, "paymentPayload": payment, "paymentRequirements": requirements}).encode()
        seen: Dict[str, str] = {}
        settlement = self._transport.send(Request(
            "POST", "/v1/x402/settle", body=body, idempotency_key=str(uuid.uuid4()), max_wait=0, seen=seen.update))
        headers = {"x-payment-response" if version == 1 else "payment-response": _encode(settlement)}
        is_replay = seen.get("x-gateway-idempotent-replay") == "true"
        if settlement["success"] and not is_replay:
            return Charge(True, headers, settlement, b"")
        error = "this payment was used already" if is_replay else settlement.get("errorReason", "payment refused")
        answer = _required(resource, error)
        return answer._replace(headers={**answer.headers, **headers}, settlement=settlement)

    def _resource(self, id: str) -> Mapping[str, Any]:
        with self._lock:
            until, resource = self._terms.get(id, (0.0, {}))
        if until > time.monotonic():
            return resource
        resource = self.get(id)
        with self._lock:
            self._terms[id] = (time.monotonic() + TERMS_FOR, resource)
        return resource


def _chosen(resource: Mapping[str, Any], payment: Mapping[str, Any]) -> Optional[Mapping[str, Any]]:
    """The terms that a payment answers: ours, never those that it carries."""
    if payment.get("x402Version") == 1:
        ways, network = resource["accepts_v1"], payment.get("network")
    else:
        accepted = payment.get("accepted")
        ways, network = resource["accepts"], accepted.get("network") if isinstance(accepted, dict) else None
    return next((way for way in ways if way["network"] == network), None)


def _required(resource: Mapping[str, Any], error: str) -> Charge:
    about = {"url": resource["url"], "description": resource["description"], "mimeType": resource["mime_type"]}
    asked = {"x402Version": 2, "error": error, "resource": about, "accepts": resource["accepts"]}
    headers = {
        "content-type": "application/json", "cache-control": "no-store", "payment-required": _encode(asked),
    }
    body = json.dumps({"x402Version": 1, "error": error, "accepts": resource["accepts_v1"]}).encode()
    return Charge(False, headers, None, body)


def _decode(value: Optional[str]) -> Optional[Mapping[str, Any]]:
    if not value:
        return None
    try:
        payment = json.loads(base64.b64decode(value, validate=True))
    except ValueError:
        return None
    return payment if isinstance(payment, dict) else None


def _encode(answer: Mapping[str, Any]) -> str:
    return base64.b64encode(json.dumps(answer).encode()).decode()


# What is sold: resource ids by path, or a function that says which resource a request is for, None
# for those that cost nothing.
Resources = Union[Mapping[str, str], Callable[[Mapping[str, Any]], Optional[str]]]


def _finder(resources: Resources) -> Callable[[Mapping[str, Any], str, str], Optional[str]]:
    """Returns what finds the resource of a request by its path and the part of the path that it is mounted at."""
    if callable(resources):
        return lambda request, _path, _root: _checked(resources(request))
    listed: Dict[str, str] = {}
    for path, resource_id in resources.items():
        # Such a path would never be charged for.
        if not isinstance(path, str) or not path.startswith("/") or "?" in path:
            raise ValueError(f"{path!r} is no path: list paths as \"/weather\", without a query")
        if _checked(resource_id) is None:
            raise ValueError(f"{path!r} has no resource")
        if listed.setdefault(_plain(path), resource_id) != resource_id:
            raise ValueError(f"{path!r} is listed twice")
    return lambda _request, path, root: next((listed[name] for name in _names(path, root) if name in listed), None)


def _checked(resource_id: Any) -> Optional[str]:
    if resource_id is not None and (not isinstance(resource_id, str) or not resource_id):
        raise TypeError("a resource is named by its resource_id, a text, and None is for free")
    return resource_id


def _plain(path: str) -> str:
    """One spelling of what an application may take for the same: `/weather/`, `//weather`, `/./weather`."""
    return posixpath.normpath("/" + path.lstrip("/"))


def _names(path: str, root: str) -> List[str]:
    """The names under which a seller may have listed a path: as his application sees it, as its
    mounts do, and as the world does. Servers disagree whether a path has the part that they are
    mounted at, and one that is missed would be given away."""
    root = root.rstrip("/")
    parts = root.split("/")[1:]
    # Any part of what it is mounted at may stand before the path, the longest first.
    ends = range(len(parts), 0, -1)
    mounts = [*sorted(("/" + "/".join(parts[start:end]) for end in ends for start in range(end)), key=len, reverse=True), ""]
    names = []
    for whole in (path, root + path):
        for mount in mounts:
            if whole == mount or whole.startswith(mount + "/"):
                names.append(_plain(whole[len(mount):]))
    return names


class RequirePayment:
    """A middleware for every server of ASGI (FastAPI, Starlette, Django).

    `app.add_middleware(RequirePayment, gateway=gateway, resources={"/weather": "pzx_…"})`: a request for
    one of these paths passes once it is paid for, and every other path is free. The settlement is in
    `scope["payment"]`. A path is listed as the application has it, wherever it is mounted. For paths with
    parts that vary, give a function of the scope that returns the resource_id, or None.
    """

    def __init__(self, app: Any, gateway: Any, resources: Resources):
        self._app, self._gateway, self._find = app, gateway, _finder(resources)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        # A scope without a path is nobody's to give away: the error answers 500.
        resource_id = self._find(scope, scope["path"], scope.get("root_path") or "")
        if resource_id is None:
            return await self._app(scope, receive, send)
        if scope["type"] == "websocket":
            # A connection cannot be paid for, so there is none.
            await receive()
            return await send({"type": "websocket.close", "code": 1008, "reason": "pay by a request of HTTP"})
        given = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        # The client of this library blocks, so it runs in a thread.
        charge = await asyncio.get_running_loop().run_in_executor(
            None, self._gateway.x402.charge, resource_id, given.get)
        headers = [(name.encode(), value.encode()) for name, value in charge.headers.items()]
        if not charge.paid:
            await send({"type": "http.response.start", "status": 402, "headers": headers})
            return await send({"type": "http.response.body", "body": charge.body})

        async def add(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *headers]}
            await send(message)

        await self._app({**scope, "payment": charge.settlement}, receive, add)


def require_payment(gateway: Any, resources: Union[str, Resources], app: Callable[..., Any]) -> Callable[..., Any]:
    """A middleware for every server of WSGI (Flask, Django, plain Python).

    resources: a resource_id, which every request of `app` is charged for; or resource ids by path, as in
    RequirePayment, where every other path is free; or a function of the environ.
    """
    find = _finder(_always(resources) if isinstance(resources, str) else resources)

    def paid(environ: Dict[str, Any], start_response: Callable[..., Any]) -> Any:
        def header(name: str) -> Optional[str]:
            return environ.get("HTTP_" + name.upper().replace("-", "_"))

        resource_id = find(environ, _text(environ, "PATH_INFO"), _text(environ, "SCRIPT_NAME"))
        if resource_id is None:
            return app(environ, start_response)
        charge = gateway.x402.charge(resource_id, header)
        if not charge.paid:
            start_response("402 Payment Required", list(charge.headers.items()))
            return [charge.body]
        environ["gateway.payment"] = charge.settlement

        def start(status: str, headers: List[Tuple[str, str]], *more: Any) -> Any:
            return start_response(status, headers + list(charge.headers.items()), *more)

        return app(environ, start)

    return paid


def _always(resource_id: str) -> Resources:
    _checked(resource_id)
    return lambda _: resource_id


def _text(environ: Mapping[str, Any], name: str) -> str:
    """A path of an environ, whose letters are bytes."""
    return environ.get(name, "").encode("latin-1").decode("utf-8", "replace")
