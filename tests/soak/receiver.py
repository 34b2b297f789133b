"""The receiver: takes deltas over HTTP and fails in every way that a network has.

What a POST meets is the path it goes to:
    /ok         taken, 200
    /500        thrown away, 500
    /500-taken  taken, 500: the sender believes that it was lost
    /cut        the connection ends half way through the body
    /cut-taken  taken, and the connection ends before an answer
    /hang       the body is not read and nothing answers
    /hang-taken taken, and nothing answers
"""

import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import world  # noqa: E402


class Receiver:
    def __init__(self):
        self.taken = {}  # stream -> bodies, in the order they came
        self.lock = threading.Lock()
        receiver = self

        class Handler(world.Handler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                receiver.handle(self)

        self.server = world.Server(Handler)
        self.over = threading.Event()
        with socket.socket() as unused:  # a port that nobody listens on
            unused.bind(("127.0.0.1", 0))
            self.closed_port = unused.getsockname()[1]

    def url(self, fate, stream):
        port = self.closed_port if fate == "refused" else self.server.server_address[1]
        return f"http://127.0.0.1:{port}/{fate}/{stream}"

    def take(self, handler, stream):
        body = handler.body()
        if len(body) == int(handler.headers["Content-Length"]):  # or else the sender was cut off
            with self.lock:
                self.taken.setdefault(stream, []).append(body)

    def handle(self, handler):
        _, fate, stream = handler.path.split("/")
        handler.close_connection = True
        if fate == "cut":
            handler.rfile.read(int(handler.headers["Content-Length"]) // 2)
        elif fate == "500":
            handler.body()
        elif fate != "hang":
            self.take(handler, stream)
        if fate.startswith("cut"):
            handler.connection.shutdown(socket.SHUT_RDWR)
        elif fate.startswith("hang"):
            self.over.wait()
        else:
            handler.answer(500 if fate.startswith("500") else 200)

    def close(self):
        self.over.set()
        self.server.end()
