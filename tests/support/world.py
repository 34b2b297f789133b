"""HTTP on the loopback interface: a server whose answers a test decides, and the world of a recipe, a program that is fetched
and a receiver, which fail in the ways that a network has."""

import collections
import http.server
import threading
import urllib.parse

Got = collections.namedtuple("Got", "path query headers body")


class Handler(http.server.BaseHTTPRequestHandler):
    """A test says what do_GET and do_POST do."""

    def body(self):
        return self.rfile.read(int(self.headers["Content-Length"]))

    def answer(self, status, body=b"", sent=None):
        """Announces the whole body. Only so many bytes of it are sent."""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:sent])
        self.wfile.flush()

    def log_message(self, *_):
        pass

    def handle(self):
        try:
            super().handle()
        except OSError:  # who asked has gone
            self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, handler, **known):
        """The handler has these members."""
        super().__init__(("127.0.0.1", 0), type("Bound", (handler,), known))
        self.url = "http://127.0.0.1:%d" % self.server_port
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def end(self):
        self.shutdown()
        self.server_close()


class WorldHandler(Handler):
    world = None

    def do_GET(self):
        world, body = self.world, self.world.profile()
        if world.target == "is silent":
            return world.hang()
        if world.target == "fails":
            return self.answer(500, b"no profile today\n")
        self.answer(200, body, {"stops after its headers": 0, "stops half way": len(body) // 2, "closes half way": len(body) // 2,
                                "stops before its last byte": len(body) - 1, "answers": None}[world.target])
        if world.target.startswith("stops"):
            world.hang()

    def do_POST(self):
        world, body = self.world, self.body()
        if world.receiver in ("answers", "closes", "takes it and is silent"):
            path, _, query = self.path.partition("?")
            world.got.append(Got(path, dict(urllib.parse.parse_qsl(query)), dict(self.headers), body))
        if "silent" in world.receiver:
            world.hang()
        if world.receiver != "closes":
            self.answer(503 if world.receiver == "fails" else 200)

    do_PUT = do_POST


class World:
    """What the target serves and how, and what the receiver got."""

    def __init__(self):
        self.profile = bytes  # a function
        self.target = self.receiver = "answers"
        self.got = []
        self.asked = threading.Semaphore(0)  # once for each request that hangs
        self.freed = threading.Event()
        self.server = Server(WorldHandler, world=self)
        self.url = self.server.url

    def hang(self):
        self.asked.release()
        self.freed.wait()

    def end(self):
        self.freed.set()
        self.server.end()
