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

import http.server
import socket
import threading


class Receiver:
    def __init__(self):
        self.taken = {}  # stream -> bodies, in the order they came
        self.lock = threading.Lock()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                try:
                    receiver.handle(self)
                except OSError:  # the sender went away, perhaps killed
                    self.close_connection = True

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass  # as above

        self.server = Server(("127.0.0.1", 0), Handler)
        self.over = threading.Event()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        with socket.socket() as unused:  # a port that nobody listens on
            unused.bind(("127.0.0.1", 0))
            self.closed_port = unused.getsockname()[1]

    def url(self, fate, stream):
        port = self.closed_port if fate == "refused" else self.server.server_address[1]
        return f"http://127.0.0.1:{port}/{fate}/{stream}"

    def take(self, handler, stream):
        length = int(handler.headers["Content-Length"])
        body = handler.rfile.read(length)
        if len(body) == length:  # or else the sender was cut off
            with self.lock:
                self.taken.setdefault(stream, []).append(body)

    def handle(self, handler):
        _, fate, stream = handler.path.split("/")
        handler.close_connection = True
        if fate == "cut":
            handler.rfile.read(int(handler.headers["Content-Length"]) // 2)
        elif fate == "500":
            handler.rfile.read(int(handler.headers["Content-Length"]))
        elif fate != "hang":
            self.take(handler, stream)
        if fate.startswith("cut"):
            handler.connection.shutdown(socket.SHUT_RDWR)
        elif fate.startswith("hang"):
            self.over.wait()
        else:
            code = 500 if fate.startswith("500") else 200
            handler.send_response(code)
            handler.send_header("Content-Length", "0")
            handler.end_headers()

    def close(self):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()
