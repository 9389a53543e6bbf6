"""One request over all its attempts."""

from __future__ import annotations

import http.client
import random
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Callable, Dict, Iterator, Mapping, NamedTuple, Optional, Set, Tuple

from . import exact
from .errors import ApiError, ConnectionFailed, RateLimited, refusal

VERSION = "0.1.0"
FIRST_PAUSE = 0.25
LONGEST_PAUSE = 8.0
# Reading a long list may wait for the next minute's requests.
PATIENT = 90.0

# (method, url, headers, body, timeout) -> (status, headers in lower case, body). Raises OSError.
Send = Callable[[str, str, Dict[str, str], Optional[bytes], float], Tuple[int, Mapping[str, str], bytes]]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def send_by_urllib(
    method: str, url: str, headers: Dict[str, str], body: Optional[bytes], timeout: float
) -> Tuple[int, Mapping[str, str], bytes]:
    request = urllib.request.Request(url, body, headers, method=method)
    try:
        with _OPENER.open(request, timeout=timeout) as answer:
            return answer.status, _lower(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, _lower(error.headers), error.read()


def _lower(headers: Any) -> Dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


class Request(NamedTuple):
    method: str
    path: str
    query: Optional[Mapping[str, Any]] = None
    body: Optional[bytes] = None
    content_type: str = "application/json"
    idempotency_key: Optional[str] = None
    read: Callable[[bytes], Any] = exact.parse
    max_wait: Optional[float] = None
    # Gets the headers of the answer, in lower case.
    seen: Optional[Callable[[Mapping[str, str]], Any]] = None


class Transport:
    def __init__(
        self, base_url: str, api_key: Optional[str], timeout: float, retry_for: float, max_wait: float, send: Send,
        sleep: Callable[[float], None],
    ):
        if not re.match("https?://", base_url):
            raise ValueError("base_url is the gateway's address, like https://pay.example")
        self._base = base_url.rstrip("/")
        self._key = api_key
        self._timeout, self._retry_for, self._max_wait = timeout, retry_for, max_wait
        self._send, self.sleep = send, sleep

    def send(self, request: Request) -> Any:
        """Sends it until it is answered. Every request of this library can be sent twice."""
        may_wait = self._max_wait if request.max_wait is None else request.max_wait
        deadline = time.monotonic() + self._retry_for
        attempt = 0
        while True:
            answer, failure = self._attempt(request, deadline - time.monotonic())
            if failure is None:
                return answer
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt) * random.uniform(0.5, 1)
            if isinstance(failure, ApiError):
                if failure.status < 500 and not isinstance(failure, RateLimited):
                    raise failure
                if failure.retry_after is not None:
                    if failure.retry_after > may_wait:
                        raise failure
                    # Waiting as asked is no failed attempt: it does not use up the time for those.
                    may_wait -= failure.retry_after
                    deadline += failure.retry_after
                    pause = max(pause, failure.retry_after)
                elif failure.status < 500:
                    raise failure
            if time.monotonic() + pause >= deadline:
                raise failure
            self.sleep(pause)
            attempt += 1

    def _attempt(self, request: Request, left: float) -> Tuple[Any, Optional[Exception]]:
        url = self._base + request.path + _query(request.query)
        try:
            limit = max(0.001, min(self._timeout, left))
            status, headers, text = self._send(request.method, url, self._headers(request), request.body, limit)
        except (OSError, http.client.HTTPException) as error:
            failure = ConnectionFailed(f"{request.method} {request.path}: no answer: {error}", request.idempotency_key)
            failure.__cause__ = error
            return None, failure
        if not 200 <= status < 300:
            return None, refusal(status, text, _seconds(headers.get("retry-after")))
        if request.seen is not None:
            request.seen(headers)
        try:
            return request.read(text), None
        except ValueError as error:
            failure = ConnectionFailed(f"{request.method} {request.path}: a damaged answer", request.idempotency_key)
            failure.__cause__ = error
            return None, failure

    def _headers(self, request: Request) -> Dict[str, str]:
        headers = {"user-agent": f"gateway-sdk-python/{VERSION}", "accept": "*/*"}
        if self._key is not None:
            headers["x-api-key"] = self._key
        if request.body is not None:
            headers["content-type"] = request.content_type
        if request.idempotency_key is not None:
            headers["idempotency-key"] = request.idempotency_key
        return headers


def _seconds(header: Optional[str]) -> Optional[int]:
    """Whole seconds; the gateway sends no dates."""
    return int(header) if header is not None and re.fullmatch("[0-9]{1,9}", header.strip()) else None


def _query(query: Optional[Mapping[str, Any]]) -> str:
    given = {name: value for name, value in (query or {}).items() if value is not None}
    return "?" + urllib.parse.urlencode(given) if given else ""


def segment(id: str) -> str:
    """An id as one part of a path; an order_id may hold anything."""
    if not isinstance(id, str) or id in ("", ".", ".."):
        raise ValueError("an id is text, and not empty")
    return urllib.parse.quote(id, safe="")


def items(read: Callable[[int], Mapping[str, Any]], field: str) -> Iterator[Any]:
    """Items of all pages.

    New items move others onto the next page while it is read, so those of the page before are left
    out when they come again.
    """
    before: Set[str] = set()
    page = 0
    while True:
        found = read(page)
        for item in found["data"]:
            if item[field] not in before:
                yield item
        page += 1
        if not found["data"] or page >= found["pagesCount"]:
            return
        before = {item[field] for item in found["data"]}
