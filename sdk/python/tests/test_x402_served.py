"""The middleware of ASGI as FastAPI and uvicorn serve it: behind a root path, and in a mounted application."""

import socket
import threading
import time
import unittest
import urllib.error
import urllib.request

import uvicorn
from fastapi import FastAPI
from test_x402 import PAYMENT, Stub, http

from gateway_sdk import Gateway, RequirePayment


def serve(app, **settings):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="critical", **settings))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.01)
    return server, f"http://127.0.0.1:{port}"


def weather():
    return {"weather": "fine"}


def status(url, payment=None):
    headers = {"payment-signature": payment} if payment else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


class Served(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        stub = cls.stub = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stub)
        threading.Thread(target=stub.serve_forever, daemon=True).start()
        cls.gateway = Gateway(f"http://127.0.0.1:{stub.server_port}", "a key")

    @classmethod
    def tearDownClass(cls):
        cls.stub.shutdown()
        cls.stub.server_close()

    def shop(self, resources):
        app = FastAPI()
        app.get("/weather")(weather)
        app.get("/news")(weather)
        app.add_middleware(RequirePayment, gateway=self.gateway, resources=resources)
        return app

    def check(self, app, path, **settings):
        server, base = serve(app, **settings)
        try:
            self.assertEqual(status(f"{base}{path}"), 402)
            self.assertEqual(status(f"{base}{path}", PAYMENT), 200)
            self.assertEqual(status(f"{base}{path.replace('weather', 'news')}"), 200)
        finally:
            server.should_exit = True

    def test_behind_a_root_path(self):
        self.check(self.shop({"/weather": "pzx_1"}), "/weather")
        self.check(self.shop({"/weather": "pzx_1"}), "/weather", root_path="/api")

    def test_around_and_inside_a_mounted_application(self):
        outer = FastAPI()
        outer.mount("/shop", self.shop({"/weather": "pzx_1"}))
        for root_path in ("", "/api"):
            self.check(outer, "/shop/weather", root_path=root_path)
        outer = FastAPI()
        outer.mount("/shop", self.shop({}))
        outer.add_middleware(RequirePayment, gateway=self.gateway, resources={"/shop/weather": "pzx_1"})
        for root_path in ("", "/api"):
            self.check(outer, "/shop/weather", root_path=root_path)


if __name__ == "__main__":
    unittest.main()
