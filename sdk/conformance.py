#!/usr/bin/env python3
"""Drives one SDK through scenario.json against a running gateway.

    conformance.py LANGUAGE DRIVER...

DRIVER is the command of a small program in that language. It reads one JSON object a line, calls
the SDK, and writes one JSON object a line. Between it and the gateway stands a line that loses
connections and answers errors when the scenario says so, and keeps count of the requests.

Environment: GATEWAY_BASE_URL, and GATEWAYCTL with what that program needs to reach the database.
"""

import hashlib
import hmac
import http.client
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from decimal import Decimal
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
PATIENCE = 90


class Wrong(Exception):
    """The SDK did something else than the scenario says."""


# --- The line between the SDK and the gateway


class Line:
    def __init__(self, target):
        self.target = urllib.parse.urlsplit(target)
        self.faults, self.requests, self.lock = [], [], threading.Lock()
        self.before = 500, {}, b""
        line = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                line.serve(self)

            do_POST = do_GET

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def next_fault(self):
        """The first of the plan; one that ends in * stays."""
        if not self.faults:
            return ""
        return self.faults[0].rstrip("*") if self.faults[0].endswith("*") else self.faults.pop(0)

    def serve(self, request):
        body = request.rfile.read(int(request.headers.get("content-length") or 0))
        with self.lock:
            fault = self.next_fault()
            self.requests.append({
                "method": request.command, "path": request.path, "fault": fault,
                "key": request.headers.get("idempotency-key") or "", "agent": request.headers.get("user-agent") or "",
            })
        if fault == "drop_before":
            return self.drop(request)
        if fault == "hang":
            time.sleep(3)
            return self.drop(request)
        if fault == "503":
            return self.answer(request, 503, {}, b'{"statusCode":503,"code":"RATE_PROVIDER_DOWN","message":"no rate"}')
        if fault == "502":
            return self.answer(request, 502, {"content-type": "text/html"}, b"<h1>Bad Gateway</h1>")
        if fault.startswith("429:"):
            text = b'{"statusCode":429,"code":"RATE_LIMIT_EXCEEDED","message":"later"}'
            return self.answer(request, 429, {"retry-after": fault[4:]}, text)
        if fault == "quota":
            return self.answer(request, 429, {}, b'{"statusCode":429,"code":"QUOTA_EXCEEDED","message":"too many"}')
        if fault == "redirect":
            return self.answer(request, 302, {"location": "/v1/status"}, b"")
        if fault == "unknown":
            return self.answer(request, 418, {}, b'{"statusCode":418,"code":"NEVER_HEARD_OF","message":"new"}')
        # As if so many new items had come that this page is the one before once more.
        status, headers, text = self.before if fault == "again" else self.forward(request, body)
        self.before = status, headers, text
        if fault == "drop_after":
            return self.drop(request)
        if fault == "cut_body":
            request.send_response(status)
            request.send_header("content-length", str(len(text)))
            request.end_headers()
            request.wfile.write(text[: len(text) // 2])
            request.wfile.flush()
            return self.drop(request)
        self.answer(request, status, headers, text)

    def forward(self, request, body):
        upstream = http.client.HTTPConnection(self.target.hostname, self.target.port, timeout=30)
        skipped = ("host", "connection", "content-length", "transfer-encoding", "accept-encoding")
        headers = {k: v for k, v in request.headers.items() if k.lower() not in skipped}
        try:
            upstream.request(request.command, request.path, body or None, headers)
            answer = upstream.getresponse()
            kept = {k: v for k, v in answer.getheaders() if k.lower() in ("content-type", "retry-after", "x-ratelimit-limit")}
            return answer.status, kept, answer.read()
        finally:
            upstream.close()

    @staticmethod
    def answer(request, status, headers, text):
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("content-length", str(len(text)))
        request.end_headers()
        request.wfile.write(text)

    @staticmethod
    def drop(request):
        request.close_connection = True
        request.wfile.flush()
        request.connection.shutdown(2)


# --- The driver


class Driver:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def call(self, op, arguments):
        began = time.monotonic()
        self.process.stdin.write(json.dumps({"op": op, **arguments}).encode() + b"\n")
        self.process.stdin.flush()
        timer = threading.Timer(PATIENCE, self.process.kill)
        timer.start()
        try:
            line = self.process.stdout.readline()
        finally:
            timer.cancel()
        if not line:
            raise Wrong(f"the driver ended, or hung for {PATIENCE} s, in {op}")
        answer = json.loads(line, parse_float=Decimal)
        answer["took"] = Decimal(round(time.monotonic() - began, 3))
        return answer

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()


# --- Expectations


def look(value, path):
    """`a.b.0` within an answer; None where there is nothing."""
    for part in path.split(".") if path else []:
        if isinstance(value, list):
            value = value[int(part)] if part.lstrip("-").isdigit() and -len(value) <= int(part) < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def holds(expected, actual):
    if isinstance(expected, dict):
        (rule, wanted), = expected.items()
        if rule == "length":
            return isinstance(actual, list) and len(actual) == wanted
        if rule == "distinct":
            return isinstance(actual, list) and len(actual) == wanted == len(set(actual))
        if rule == "contains":
            return isinstance(actual, (list, str)) and wanted in actual
        if rule == "lacks":
            return isinstance(actual, (list, str)) and wanted not in actual
        if rule == "matches":
            return isinstance(actual, (str, int, Decimal)) and re.search(wanted, str(actual)) is not None
        if rule == "min":
            return actual is not None and Decimal(actual) >= Decimal(str(wanted))
        if rule == "max":
            return actual is not None and Decimal(actual) <= Decimal(str(wanted))
        if rule == "not":
            return actual != wanted
        raise SystemExit(f"scenario.json: no rule {rule}")
    if isinstance(expected, str) and isinstance(actual, (int, Decimal)) and not isinstance(actual, bool):
        # Digits, as a typed language writes them again: a JSON number.
        return expected == format(actual, "f") if isinstance(actual, Decimal) else expected == str(actual)
    return type(expected) is type(actual) and expected == actual


class Scenario:
    def __init__(self, language, driver, line):
        self.language, self.driver, self.line = language, driver, line
        self.names = {"line": line.url, "run": f"{language}-{os.getpid()}", "nothing": "0" * 64}

    def fill(self, value):
        if isinstance(value, str):
            return re.sub(r"\$\{(\w+)\}", lambda m: str(self.names[m[1]]), value)
        if isinstance(value, list):
            return [self.fill(v) for v in value]
        if isinstance(value, dict):
            return {k: self.fill(v) for k, v in value.items()}
        return value

    def step(self, step):
        """One step: what it does is the first of these words that it has."""
        if "line" in step:
            with self.line.lock:
                self.line.faults, self.line.requests = list(step["line"]), []
            return
        if "seen" in step:
            with self.line.lock:
                seen = list(self.line.requests)
            answer = {"ok": {"count": len(seen), "keys": [s["key"] for s in seen], "different": len({s["key"] for s in seen}),
                             "paths": [s["path"] for s in seen], "agents": [s["agent"] for s in seen]}}
            return self.check(step["seen"], answer)
        if "merchant" in step:
            made = json.loads(gatewayctl("--json", "merchant", "create", "--name", self.names["run"]))
            name = step["merchant"]
            self.names |= {f"{name}_key": made["api_key"], f"{name}_secret": made["webhook_secret"]}
            return
        if "ctl" in step:
            gatewayctl(*self.fill(step["ctl"]))
            return
        if "post" in step:
            return self.check(step["expect"], {"ok": self.post(**self.fill(step["post"]))})
        if "exhaust" in step:
            return self.exhaust(self.fill(step["exhaust"]))
        if "recorded" in step:
            return self.recorded(step["recorded"])
        return self.call(step)

    def call(self, step):
        arguments = self.fill({k: v for k, v in step.items() if k not in ("do", "expect", "save", "until")})
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self.driver.call(step["do"], arguments)
            try:
                self.check(step.get("expect", {}), answer)
                break
            except Wrong:
                if not step.get("until") or time.monotonic() > deadline or ("error" in answer and "error" not in str(step["expect"])):
                    raise
                time.sleep(step["until"])
        for name, path in step.get("save", {}).items():
            self.names[name] = look(answer, path)

    def check(self, expect, answer):
        if "error" in answer and not any(path.split(".")[0] == "error" for path in expect):
            raise Wrong(f"it failed: {shown(answer)}")
        for path, expected in self.fill(expect).items():
            actual = look(answer, path)
            if not holds(expected, actual):
                raise Wrong(f"{path} is {shown(actual)}, not {shown(expected)}, in {shown(answer)}")

    def post(self, url, channel, secret, change=None, age=0, forge=False):
        """A delivery like the gateway's own, posted to the driver's receiver."""
        name, stamp, header, hash_name = {
            "payment": ("verify-ipn", "event_at", "x-gateway-sig", "sha512"),
            "payout": ("verify-payout-webhook", "eventAt", "X-Gateway-Signature", "sha256"),
        }[channel]
        recorded = json.loads((EXAMPLES / name / "recorded.json").read_text(encoding="utf-8"))
        good = next(d for d in recorded["deliveries"] if d["name"].startswith("the good one"))
        event = {**json.loads(good["body"]), stamp: int(time.time()) - age, **(change or {})}
        body = json.dumps(event, ensure_ascii=False).encode()
        signature = hmac.new(secret.encode(), body, hash_name).hexdigest()
        if forge:
            body = body.replace(b"finished", b"Finished").replace(b"completed", b"Completed")
        request = urllib.request.Request(url, body, {header: signature, "content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return {"status": answer.status}
        except urllib.error.HTTPError as refused:
            return {"status": refused.code}

    def exhaust(self, key):
        """Uses up the merchant's requests of this minute, past the SDK."""
        for _ in range(80):
            request = urllib.request.Request(os.environ["GATEWAY_BASE_URL"] + "/v1/payment?limit=1", headers={"x-api-key": key})
            try:
                urllib.request.urlopen(request, timeout=30).close()
            except urllib.error.HTTPError as refused:
                if refused.code == 429:
                    return
                raise
        raise Wrong("80 requests of a minute were not refused")

    def recorded(self, channel):
        """The verdicts of the gateway's own recordings, and the digits of their amounts."""
        name, op = {"payment": ("verify-ipn", "verifyPaymentIpn"), "payout": ("verify-payout-webhook", "verifyPayoutWebhook")}[channel]
        recorded = json.loads((EXAMPLES / name / "recorded.json").read_text(encoding="utf-8"))
        seen, count = set(), 0
        for delivery in recorded["deliveries"]:
            answer = self.driver.call(op, {
                "body": delivery["body"], "signature": delivery["signature"], "secret": recorded["secret"],
                "now": delivery["received_at"],
            })
            verdict = self.verdict(answer, seen)
            if verdict != delivery["expected"]:
                raise Wrong(f"{delivery['name']}: {verdict}, not {delivery['expected']}: {shown(answer)}")
            sent = re.search(r'"pay_amount":([0-9.]+)', delivery["body"])
            if "ok" in answer and sent and not holds(sent[1], look(answer, "ok.event.pay_amount")):
                raise Wrong(f"{delivery['name']}: pay_amount was {sent[1]}: {shown(answer)}")
            count += 1
        if count < 25:
            raise Wrong(f"the recording of {name} is almost empty")

    @staticmethod
    def verdict(answer, seen):
        if "error" in answer:
            return answer["error"]["reason"]
        ok = answer["ok"]
        if ok["key"] in seen:
            return "duplicate"
        seen.add(ok["key"])
        if ok["kind"] == "notice":
            return f"notice {ok['notice']['type']} {ok['event']['payment_status']}"
        if ok["kind"] == "renewal":
            return f"renewal {ok['renewal']['day_offset']} {ok['event']['payment_status']}"
        if ok["kind"] == "payment":
            return f"accepted {ok['event']['payment_status']}"
        return f"accepted {ok['event']['eventType']} {ok['event']['order']['state']}"


def shown(value):
    return json.dumps(value, default=str, ensure_ascii=False)[:1500]


def gatewayctl(*arguments):
    ran = subprocess.run([os.environ["GATEWAYCTL"], *arguments], capture_output=True, timeout=60, check=False)
    if ran.returncode:
        raise SystemExit(f"gatewayctl {' '.join(arguments)}: {ran.stdout.decode()}{ran.stderr.decode()}")
    return ran.stdout.decode()


def main():
    language, command = sys.argv[1], sys.argv[2:]
    cases = json.loads((HERE / "scenario.json").read_text(encoding="utf-8"))["cases"]
    line, began = Line(os.environ["GATEWAY_BASE_URL"]), time.monotonic()
    driver = Driver(command)
    scenario, at = Scenario(language, driver, line), ""
    try:
        for case in cases:
            for number, step in enumerate(case["steps"], 1):
                at = f"{case['name']}, step {number} {shown(step)[:200]}"
                scenario.step(step)
            print(f"{language}: {case['name']}")
    except Wrong as wrong:
        sys.exit(f"{language}: {at}\n    {wrong}")
    finally:
        driver.end()
    print(f"{language}: {len(cases)} cases in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
