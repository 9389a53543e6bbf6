"""The middlewares of x402, against a stub of the gateway: python -m unittest discover -s sdk/python/tests"""

import asyncio
import base64
import http.server
import json
import threading
import unittest
from wsgiref.util import setup_testing_defaults

from gateway_sdk import Gateway, RequirePayment, require_payment

RESOURCE = {
    "url": "https://api.example/weather", "description": "", "mime_type": "application/json",
    "accepts": [{"scheme": "exact", "network": "eip155:137", "amount": "10000"}], "accepts_v1": [],
}
PAYMENT = base64.b64encode(
    json.dumps({"x402Version": 2, "accepted": {"network": "eip155:137"}, "payload": {}}).encode()).decode()


class Stub(http.server.BaseHTTPRequestHandler):
    """Names one resource, and settles every payment: it is no gateway."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer(RESOURCE)

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.answer({"success": True, "payer": "0x1", "transaction": "0x2", "network": "eip155:137"})

    def answer(self, body):
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.send_header("server", "stub")
        self.end_headers()
        self.wfile.write(text)


class Middlewares(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stub)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.gateway = Gateway(f"http://127.0.0.1:{cls.server.server_port}", "a key")

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def asgi(self, resources, path, root="", payment=None, kind="http", **more):
        """The status that a request is answered with, and what the application was given."""
        sent, given = [], []

        async def app(scope, _receive, send):
            given.append(scope)
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"fine"})

        async def receive():
            return {"type": f"{kind}.connect"}

        async def send(message):
            sent.append(message)

        headers = [(b"payment-signature", payment.encode())] if payment else []
        scope = {"type": kind, "path": path, "root_path": root, "headers": headers, **more}
        asyncio.run(RequirePayment(app, self.gateway, resources)(scope, receive, send))
        return sent[0].get("status", sent[0]["type"]), given

    def wsgi(self, resources, path, root="", payment=None):
        statuses = []
        environ = {"PATH_INFO": path, "SCRIPT_NAME": root}
        setup_testing_defaults(environ)
        if payment:
            environ["HTTP_PAYMENT_SIGNATURE"] = payment

        def app(environ, start_response):
            start_response("200 OK", [])
            return [b"fine"]

        require_payment(self.gateway, resources, app)(environ, lambda status, *_: statuses.append(status))
        return int(statuses[0][:3])

    # What servers and mounts make of one path: uvicorn --root-path adds its part to the path, older servers do
    # not, and a mount adds its own.
    CHARGED = [
        ("/weather", ""), ("/api/weather", "/api"), ("/weather", "/api"), ("/weather", "/api/"),
        ("/api/v1/weather", "/api/v1"), ("/v1/weather", "/api/v1"), ("/weather/", ""), ("//weather", ""),
        ("/./weather", ""), ("/api//weather", "/api"),
    ]

    def test_a_listed_path_is_charged_for_wherever_the_application_is_mounted(self):
        for listed in ("/weather", "/weather/"):
            for path, root in self.CHARGED:
                with self.subTest(listed=listed, path=path, root=root):
                    self.assertEqual(self.asgi({listed: "pzx_1"}, path, root)[0], 402)
        for path, root in [("/weather", ""), ("/weather", "/api"), ("/weather/", "/api"), ("//weather", "/api")]:
            with self.subTest(path=path, root=root):
                self.assertEqual(self.wsgi({"/weather": "pzx_1"}, path, root), 402)

    def test_a_path_that_is_listed_as_the_world_or_a_mount_has_it_is_charged_for_too(self):
        for listed in ("/api/shop/weather", "/shop/weather", "/weather"):
            self.assertEqual(self.asgi({listed: "pzx_1"}, "/api/shop/weather", "/api/shop")[0], 402)
            self.assertEqual(self.asgi({listed: "pzx_1"}, "/weather", "/api/shop")[0], 402)
            self.assertEqual(self.wsgi({listed: "pzx_1"}, "/weather", "/api/shop"), 402)

    def test_a_path_whose_letters_are_bytes_is_the_listed_one(self):
        path = "/köln".encode().decode("latin-1")
        self.assertEqual(self.wsgi({"/köln": "pzx_1"}, path), 402)

    def test_every_other_path_is_free(self):
        for path in ("/", "/weathers", "/weather/berlin", "/apiweather", ""):
            self.assertEqual(self.asgi({"/weather": "pzx_1"}, path, "/api")[0], 200, path)
            self.assertEqual(self.wsgi({"/weather": "pzx_1"}, path, "/api"), 200, path)

    def test_a_paid_request_passes_with_its_settlement(self):
        status, given = self.asgi({"/weather": "pzx_1"}, "/api/weather", "/api", PAYMENT)
        self.assertEqual((status, given[0]["payment"]["payer"]), (200, "0x1"))
        self.assertEqual(given[0]["path"], "/api/weather")
        self.assertEqual(self.wsgi({"/weather": "pzx_1"}, "/weather", "/api", PAYMENT), 200)
        self.assertEqual(self.wsgi("pzx_1", "/anything", "", PAYMENT), 200)

    def test_a_function_says_what_is_charged_for(self):
        def by_scope(scope):
            return "pzx_1" if scope["path"].startswith("/weather/") else None

        self.assertEqual(self.asgi(by_scope, "/weather/berlin")[0], 402)
        self.assertEqual(self.asgi(by_scope, "/news")[0], 200)
        self.assertEqual(self.wsgi(lambda environ: "pzx_1", "/news"), 402)

    def test_a_whole_application_of_wsgi_is_charged_for(self):
        for path in ("/", "/anything", ""):
            self.assertEqual(self.wsgi("pzx_1", path), 402)

    def test_nothing_is_given_away_where_it_cannot_be_decided(self):
        def fails(_):
            raise KeyError("a fault")

        with self.assertRaises(KeyError):
            self.asgi(fails, "/weather")
        with self.assertRaises(TypeError):
            self.asgi(lambda _: "", "/weather")
        with self.assertRaises(TypeError):
            self.asgi(lambda _: True, "/weather")
        # A connection that stays open cannot be paid for.
        status, given = self.asgi({"/weather": "pzx_1"}, "/weather", kind="websocket")
        self.assertEqual((status, given), ("websocket.close", []))

    def test_what_would_never_be_charged_for_is_refused_at_the_start(self):
        for resources in ({"weather": "pzx_1"}, {"/weather?a": "pzx_1"}, {"/a": "pzx_1", "/a/": "pzx_2"}):
            with self.assertRaises(ValueError, msg=resources):
                RequirePayment(None, self.gateway, resources)
            with self.assertRaises(ValueError, msg=resources):
                require_payment(self.gateway, resources, None)
        for resource_id in ("", None, 7):
            with self.assertRaises((TypeError, ValueError)):
                RequirePayment(None, self.gateway, {"/weather": resource_id})
        with self.assertRaises(TypeError):
            require_payment(self.gateway, "", None)


if __name__ == "__main__":
    unittest.main()
