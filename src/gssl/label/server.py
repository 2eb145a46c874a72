"""The server of the labelling page on the loopback interface: files, a JSON API and access control."""

import hmac
import json
import secrets
import socket
import struct
import tempfile
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from threading import Lock, Thread
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, urlsplit

from gssl.io import read_labels
from gssl.io.table_writing import TABLES
from gssl.label.session import Session, StaleError
from gssl.operators import small_algebra
from gssl.wording import quoted

# maximum sizes of requests in bytes
MAX_ACTION, MAX_IMPORT = 4_000_000, 64_000_000
# maximum number of open connections; a browser opens about six
MAX_CONNECTIONS = 64
# seconds after which an idle connection is closed: without the cookie, and of the page
_STRANGER, _PAGE = 10, 120
# seconds in which a client may finish sending a body that was refused
_LINGER = 10
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' "
    "data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_EXPORTS = {
    "csv": "text/csv; charset=utf-8",
    "tsv": "text/tab-separated-values; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "jsonl": "application/jsonl; charset=utf-8",
}
_CLOSED = (
    "This browser has no access to this gssl label: open the address that it printed, which works once, or "
    "press Enter in its terminal for a new one."
)
# a page of its own, so that the browser asks for the next one as the same site and sends the cookie
_ENTRANCE = b'<!doctype html><title>gssl label</title><meta http-equiv="refresh" content="0;url=/">'


class RefusedError(Exception):
    """A rejected request, with the status and message of the response."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Connections:
    """The open connections: each is idle, waiting for a request, or busy with one."""

    def __init__(self) -> None:
        self._lock = Lock()
        # idle ones in the order in which they became so, and whether they are of the page
        self._idle: dict[socket.socket, bool] = {}
        self._busy: set[socket.socket] = set()

    def admit(self, connection: socket.socket) -> bool:
        """Add a connection; if there are too many, close the oldest idle one, of strangers first."""
        with self._lock:
            if len(self._idle) + len(self._busy) >= MAX_CONNECTIONS:
                strangers = (each for each, of_page in self._idle.items() if not of_page)
                oldest = next(strangers, next(iter(self._idle), None))
                if oldest is None:
                    return False
                del self._idle[oldest]
                with suppress(OSError):
                    # its thread, which waits for a request, closes it
                    oldest.shutdown(socket.SHUT_RDWR)
            self._idle[connection] = False
            return True

    def begin(self, connection: socket.socket) -> None:
        """Count a connection as busy, unless it was closed meanwhile."""
        with self._lock:
            if self._idle.pop(connection, None) is not None:
                self._busy.add(connection)

    def end(self, connection: socket.socket, of_page: bool) -> None:
        """Count a connection as idle again."""
        with self._lock:
            if connection in self._busy:
                self._busy.remove(connection)
                self._idle[connection] = of_page

    def forget(self, connection: socket.socket) -> None:
        """Remove a connection that is closed."""
        with self._lock:
            self._idle.pop(connection, None)
            self._busy.discard(connection)


class LabelServer(ThreadingHTTPServer):
    """Serve the labelling page of a session on 127.0.0.1, protected by a cookie.

    Parameters
    ----------
    session : Session
    port : int, default=0
        0 for any free port.

    Attributes
    ----------
    secret : str
        The value of the cookie, new for each server.

    Examples
    --------
    >>> import gssl, numpy as np
    >>> data = gssl.datasets.load("karate")
    >>> ids, y = data.node_ids.astype(object), np.full(34, None, dtype=object)
    >>> session = gssl.label.Session(gssl.io.Problem(ids, data.adjacency, None, y), layout=False)
    >>> with LabelServer(session) as server:
    ...     server.new_url().startswith("http://127.0.0.1:")
    True
    """

    daemon_threads = True
    # two servers must never share a port
    allow_reuse_address = False
    request_queue_size = 64
    # seconds to wait for the first words of a connection
    patience: float = _STRANGER

    def __init__(self, session: Session, port: int = 0) -> None:
        self.session = session
        self.secret = secrets.token_urlsafe(24)
        self._tokens: set[str] = set()
        self.connections = _Connections()
        self._limits = ExitStack()
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise OSError(f"port {port} is taken: choose another --port, or leave it out.") from error

    @property
    def port(self) -> int:
        """The port that the server listens on."""
        return int(self.server_address[1])

    def new_url(self) -> str:
        """Return an address that opens the page in one browser: its token gives the cookie once."""
        token = secrets.token_urlsafe(24)
        self._tokens.add(token)
        return f"http://127.0.0.1:{self.port}/?token={token}"

    def redeem(self, token: str) -> bool:
        """Use up the token of an address; return whether it was valid."""
        try:
            self._tokens.remove(token)
        except KeyError:
            return False
        return True

    @property
    def cookie(self) -> str:
        """The name of the cookie, which contains the port: browsers share cookies between ports."""
        return f"gssl_label_{self.port}"

    def start(self) -> None:
        """Serve in a separate thread.

        BLAS is limited to one thread until the server is closed. The limit is set here because one that is
        set in the thread of a request may have no effect.
        """
        self._limits.enter_context(small_algebra())
        Thread(target=self.serve_forever, args=(0.1,), name="gssl-label", daemon=True).start()

    def close(self) -> None:
        """Stop a running server."""
        self.shutdown()
        self.server_close()

    def server_close(self) -> None:
        """Close the socket and lift the limit on BLAS threads."""
        super().server_close()
        self._limits.close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in its own thread, unless all others are busy."""
        if self.connections.admit(request):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        self.connections.forget(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing about connections that browsers drop."""


def frame(session: Session, state: dict[str, Any]) -> bytes:
    """Encode a state as JSON, followed by the guess (uint16) and confidence (uint8) of every node."""
    head = json.dumps(state).encode()
    head += b" " * (-len(head) % 4)
    guesses = session.opinion.guesses.astype("<u2").tobytes()
    return struct.pack("<I", len(head)) + head + guesses + session.opinion.confidences.tobytes()


class _Handler(BaseHTTPRequestHandler):
    server: LabelServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "gssl", ""
    # one packet for header and body
    wbufsize = 1 << 16
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.connection.settimeout(self.server.patience)

    def do_GET(self) -> None:
        self._serve(self._get)

    def do_POST(self) -> None:
        self._serve(self._post)

    def _serve(self, answer: Any) -> None:
        self.server.connections.begin(self.connection)
        try:
            self._check_host()
            url = urlsplit(self.path)
            query = parse_qs(url.query, max_num_fields=8)
            answer(url.path, {name: values[-1] for name, values in query.items()})
        except (ConnectionError, TimeoutError):
            raise
        except RefusedError as error:
            self._refuse(error.status, str(error))
        except (ValueError, RecursionError) as error:
            self._refuse(400, str(error))
        except OSError as error:
            self._refuse(500, str(error))
        except Exception as error:  # a connection must not end without an answer
            self._refuse(500, f"gssl label failed with {type(error).__name__}: {error}.")
        finally:
            self.server.connections.end(self.connection, not self.close_connection)

    def _refuse(self, status: int, message: str) -> None:
        """Answer with an error, and close the connection: the rest of the body has not been read."""
        self.close_connection = True
        self._send(status, json.dumps({"error": " ".join(message.splitlines())}).encode())
        self.server.connections.end(self.connection, False)
        # a socket that is closed with unread data resets the connection, and the client loses the answer
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(_LINGER)
            deadline = monotonic() + _LINGER
            while monotonic() < deadline and self.connection.recv(1 << 16):
                pass

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that is no HTTP, or of a method other than GET and POST."""
        self._refuse(code, message or explain or "This is not a valid request to gssl label.")

    def _check_host(self) -> None:
        """Reject cross-site requests and DNS rebinding."""
        port = self.server.port
        hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        if len(self.headers.get_all("Host") or []) != 1 or self.headers["Host"] not in hosts:
            raise RefusedError(421, "This server answers on 127.0.0.1 only.")
        origin = self.headers.get("Origin")
        if self.command == "POST" and origin is None:
            raise RefusedError(403, "Actions must come from the page, with its origin.")
        own_site = self.headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin")
        # other sites may link to the page
        is_link = self.command == "GET" and urlsplit(self.path).path == "/"
        own_origin = origin is None or origin in [f"http://{host}" for host in hosts]
        if not own_origin or not (own_site or is_link):
            raise RefusedError(403, "Requests from other sites are not allowed.")

    def _check_cookie(self) -> None:
        # by hand: SimpleCookie reads none if one is malformed, and other local apps may have set such a one
        cookies = (each.strip().partition("=") for each in self.headers.get("Cookie", "").split(";"))
        given = next((value for name, _, value in cookies if name == self.server.cookie), "")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self.server.secret.encode()):
            raise RefusedError(403, _CLOSED)
        self.connection.settimeout(_PAGE)

    def _get(self, path: str, query: dict[str, str]) -> None:
        if path == "/" and "token" in query:
            # a used address still opens the page in the browser that used it
            if not self.server.redeem(query["token"]):
                self._check_cookie()
            cookie = f"{self.server.cookie}={self.server.secret}; Path=/; HttpOnly; SameSite=Strict"
            self._send(200, _ENTRANCE, _TYPES[".html"], {"Set-Cookie": cookie})
            return
        self._check_cookie()
        session = self.server.session
        if path == "/":
            self._send_file("index.html")
        elif path.startswith("/static/"):
            self._send_file(path.removeprefix("/static/"))
        elif path == "/api/version":
            self._send_json({"version": session.version, "refits": session.refits})
        elif path == "/api/map":
            self._send(200, session.positions.astype("<f4").tobytes(), "application/octet-stream")
        elif path == "/api/state":
            node = None if "node" not in query else _index(query["node"])
            with session.lock:
                body = frame(session, session.state() | _card(session, node))
            self._send_frame(200, body)
        elif path == "/api/node":
            with session.lock:
                card = session.card(session.check_nodes([_index(query.get("i", ""))])[0])
            self._send_json(card)
        elif path == "/api/search":
            # without the lock: texts do not change, and a search may take longer than several actions
            matches = session.facts.search(query.get("q", "")[:200])
            with session.lock:
                mentions = [session.mention(node) for node in matches]
            self._send_json(mentions)
        elif path == "/api/export":
            self._export(query.get("format", "csv"))
        else:
            raise RefusedError(404, f"{path[:80]} does not exist.")

    def _post(self, path: str, query: dict[str, str]) -> None:
        self._check_cookie()
        session = self.server.session
        if path == "/api/act":
            if self.headers.get_content_type() != "application/json":
                raise RefusedError(415, "the content type of an action must be application/json.")
            self._act(session, _parse(self._body(MAX_ACTION)))
        elif path == "/api/import":
            self._import(session, query, self._body(MAX_IMPORT))
        else:
            raise RefusedError(404, f"{path[:80]} does not exist.")

    def _act(self, session: Session, action: dict[str, Any]) -> None:
        """Apply an action; respond with the new state and the next node, or the node to stay at."""
        with session.lock:
            status, stay, version = 200, action.get("stay"), action.get("version")
            if stay is not None:
                session.check_nodes([stay])
            if type(version) is not int:
                raise ValueError("the version of an action must be a whole number.")
            try:
                if action.get("do") == "next":
                    session.pass_over(session.check_nodes([action.get("node")])[0])
                else:
                    session.act(action, version)
                    if action.get("do") == "undo" and len(session.labelling.last) == 1:
                        stay = session.labelling.last[0]
            except StaleError:
                status = 409
            body = frame(session, session.state() | _card(session, stay))
        self._send_frame(status, body)

    def _import(self, session: Session, query: dict[str, str], body: bytes) -> None:
        suffix = f".{query.get('format', 'csv').lower()}"
        if suffix not in TABLES:
            raise ValueError(
                f"labels can be imported as {', '.join(TABLES)}, not {suffix[:12]}: convert the file."
            )
        version = _index(query.get("version", ""))
        with tempfile.TemporaryDirectory(prefix="gssl-label-") as folder:
            file = Path(folder) / f"labels{suffix}"
            file.write_bytes(body)
            try:
                labels = read_labels(file, answers=session.answers)
            except (ValueError, OSError) as error:
                raise ValueError(str(error).replace(str(file), "the file")) from error
        with session.lock:
            try:
                message, status = session.import_labels(labels, version), 200
            except StaleError:
                message, status = "The labels have changed meanwhile: import again.", 409
            body = frame(session, session.state() | _card(session, None) | {"message": message})
        self._send_frame(status, body)

    def _export(self, kind: str) -> None:
        if kind not in _EXPORTS:
            raise ValueError(f"labels can be exported as {', '.join(_EXPORTS)}, not {kind[:12]}.")
        with tempfile.TemporaryDirectory(prefix="gssl-label-") as folder:
            file = Path(folder) / f"labels.{kind}"
            self.server.session.write(file)
            content = file.read_bytes()
        name = {"Content-Disposition": f'attachment; filename="labels.{kind}"'}
        self._send(200, content, _EXPORTS[kind], name)

    def _body(self, most: int) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise RefusedError(411, "a request must have a Content-Length.")
        if int(length) > most:
            raise RefusedError(413, f"a request may have at most {most:,} bytes.")
        return self.rfile.read(int(length))

    def _send_frame(self, status: int, body: bytes) -> None:
        self._send(status, body, "application/octet-stream")

    def _send_json(self, thing: Any) -> None:
        self._send(200, json.dumps(thing).encode())

    def _send_file(self, name: str) -> None:
        folder = files("gssl.label") / "static"
        # serve only names from the folder's listing, to prevent path traversal
        if name not in {entry.name for entry in folder.iterdir()} or Path(name).suffix not in _TYPES:
            raise RefusedError(404, f"there is no file {name[:80]}.")
        self._send(200, (folder / name).read_bytes(), _TYPES[Path(name).suffix])

    # whatever is sent is made before: a client that does not read must not keep the lock of the session
    def _send(
        self,
        status: int,
        body: bytes,
        kind: str = "application/json; charset=utf-8",
        more: dict[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": kind, **(more or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        """Log nothing, since a URL may contain the token."""


def _card(session: Session, node: Any) -> dict[str, Any]:
    """Return the card of a node, or of the next one to label if None."""
    if node is not None:
        return {"card": session.card(session.check_nodes([node])[0])}
    suggestion = session.suggest()
    return {"card": None if suggestion is None else session.card(*suggestion)}


def _index(text: str) -> int:
    """Return a whole number of an address."""
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise ValueError(f"{quoted(text)} is not an index: give a whole number.")
    return int(text)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not in JSON")


def _parse(body: bytes) -> dict[str, Any]:
    """Return an action sent by the page; NaN and Infinity, which Python would accept, are refused."""
    try:
        action = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError("an action must be a JSON object with finite numbers.") from error
    if not isinstance(action, dict):
        raise ValueError("an action must be a JSON object.")
    return action
