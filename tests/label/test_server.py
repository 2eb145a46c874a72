import http.client
import json
import socket
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler

import numpy as np
import pytest

from gssl.label import server as server_module
from gssl.label.server import LabelServer

NO_INDEX = ["Infinity", "-Infinity", "NaN", "1e999", "0.5", '"0"', "true", "9" * 5000, "1e30"]


@pytest.fixture
def server(session):
    with LabelServer(session) as server:
        server.start()
        yield server
        server.shutdown()


@pytest.fixture
def ask(server):
    """Return a function that sends a request like the page; headers override its own, None removes one."""

    def ask(method, path, body=None, **headers):
        default = {"Host": f"127.0.0.1:{server.port}", "Cookie": f"{server.cookie}={server.secret}"}
        if method == "POST":
            default |= {"Origin": f"http://127.0.0.1:{server.port}", "Content-Type": "application/json"}
        given = {**default, **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        content = json.dumps(body).encode() if not isinstance(body, bytes | None) else body
        if content is not None and "Content-Length" not in given:
            given["Content-Length"] = str(len(content))
        for name, value in given.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(content)
        answer = connection.getresponse()
        response = answer.status, answer.read(), dict(answer.getheaders())
        connection.close()
        return response

    return ask


def decode(body, n=90):
    (length,) = struct.unpack("<I", body[:4])
    state = json.loads(body[4 : 4 + length])
    rest = body[4 + length :]
    return state, np.frombuffer(rest[: 2 * n], "<u2"), np.frombuffer(rest[2 * n :], np.uint8)


def test_an_address_is_exchanged_once_for_a_cookie(server, ask):
    url = server.new_url()
    path = url[url.index("/?token=") :]
    assert server.secret not in url
    status, body, headers = ask("GET", path, Cookie=None)
    assert status == 200
    assert b'content="0;url=/"' in body
    cookie = headers["Set-Cookie"]
    assert cookie == f"{server.cookie}={server.secret}; Path=/; HttpOnly; SameSite=Strict"
    assert b"<title>gssl label</title>" in ask("GET", "/")[1]
    # a second browser is refused, that of the first is let in
    status, body, headers = ask("GET", path, Cookie=None)
    assert status == 403
    assert "Set-Cookie" not in headers
    assert b"press Enter in its terminal" in body
    assert ask("GET", path)[0] == 200
    # a new address does not end the others
    first, second = server.new_url(), server.new_url()
    assert first != second
    for url in (second, first):
        assert ask("GET", url[url.index("/?token=") :], Cookie=None)[0] == 200


def test_the_token_of_an_address_is_no_cookie(server, ask):
    token = server.new_url().split("token=")[1]
    assert ask("GET", "/api/version", Cookie=f"{server.cookie}={token}")[0] == 403
    assert ask("GET", f"/?token={server.secret}", Cookie=None)[0] == 403


@pytest.mark.parametrize(
    "path", ["/", "/static/app.js", "/api/state", "/api/export?format=csv", "/?token=wrong"]
)
@pytest.mark.parametrize("cookie", [None, "gssl_label_1=x", "nonsense;;=", "ü=ä"])
def test_without_the_token_nothing_is_served(ask, path, cookie):
    cookie = cookie if cookie is None else cookie.encode("utf-8").decode("latin-1")
    status, body, headers = ask("GET", path, Cookie=cookie)
    assert status == 403
    assert b"open the address that it printed" in body
    assert "Set-Cookie" not in headers


def test_a_cookie_of_another_server_is_refused(server, ask):
    assert ask("GET", "/api/version", Cookie=f"{server.cookie}={'x' * 32}")[0] == 403
    assert ask("POST", "/api/act", {"do": "undo", "version": 0}, Cookie=None)[0] == 403


@pytest.mark.parametrize(
    "other", ['theme={"dark":"yes"}', "a b", "=", 'x="', "ü=ä".encode().decode("latin-1")]
)
def test_a_malformed_cookie_of_another_local_app_does_not_lock_the_page(server, ask, other):
    own = f"{server.cookie}={server.secret}"
    for cookies in (f"{other}; {own}", f"{own}; {other}", f"{other};{own}; {other}"):
        assert ask("GET", "/api/version", Cookie=cookies)[0] == 200
    assert ask("GET", "/api/version", Cookie=f"{other}; x{own}")[0] == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1.evil.example:80", "", None])
def test_other_hosts_are_refused(server, ask, host):
    assert ask("GET", "/api/version", Host=f"localhost:{server.port}")[0] == 200
    assert ask("GET", "/api/version", Host=host)[0] == 421
    assert ask("GET", f"/?token={server.secret}", Host=host)[0] == 421


def test_pages_of_other_sites_cannot_act(server, ask, session):
    action = {"do": "label", "nodes": [0], "label": "x", "version": 0}
    for origin in ("http://evil.example", "null", f"http://127.0.0.1:{server.port + 1}", None):
        assert ask("POST", "/api/act", action, Origin=origin)[0] == 403
    assert ask("POST", "/api/act", action, Sec_Fetch_Site="cross-site")[0] == 403
    assert ask("GET", "/api/state", Sec_Fetch_Site="same-site")[0] == 403
    assert ask("POST", "/api/act", action, Content_Type="text/plain")[0] == 415
    assert session.version == 0
    assert ask("POST", "/api/act", action, Origin=f"http://localhost:{server.port}")[0] == 200


def test_every_answer_has_a_strict_policy(server, ask):
    for path in ("/", "/static/app.js", "/api/version", "/nothing"):
        headers = ask("GET", path)[2]
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in headers
    assert server.server_address[0] == "127.0.0.1"


def test_only_files_of_the_page_are_served(ask):
    assert ask("GET", "/static/app.js")[2]["Content-Type"].startswith("text/javascript")
    for path in (
        "../session.py",
        "%2e%2e/session.py",
        "..%2fserver.py",
        "",
        "static",
        "app.js/",
        "/etc/passwd",
    ):
        assert ask("GET", f"/static/{path}")[0] == 404


def test_an_action_is_answered_with_the_new_state(ask, session, truth):
    for node in range(12):
        status, body, _ = ask(
            "POST", "/api/act", {"do": "label", "nodes": [node], "label": truth[node], "version": node}
        )
        assert status == 200
    state, guesses, confidences = decode(body)
    assert (state["version"], state["labelled"], state["speaks"]) == (12, 12, "fast")
    assert [each["labels"] for each in state["classes"]] == [4, 4, 4]
    assert state["card"]["index"] not in range(12)
    np.testing.assert_array_equal(guesses, session.opinion.guesses)
    np.testing.assert_array_equal(np.flatnonzero(confidences == 255), np.arange(12))
    # undo returns to the node
    state, _, _ = decode(ask("POST", "/api/act", {"do": "undo", "version": 12})[1])
    assert state["card"]["index"] == 11
    assert state["card"]["label"] is None
    # next shows another node without an action
    node = decode(ask("GET", "/api/state")[1])[0]["card"]["index"]
    state, _, _ = decode(ask("POST", "/api/act", {"do": "next", "node": node, "version": 13})[1])
    assert state["card"]["index"] != node
    assert state["version"] == 13


def test_a_stale_action_is_answered_with_the_state_of_now(ask, session):
    ask("POST", "/api/act", {"do": "label", "nodes": [0], "label": "ash", "version": 0})
    status, body, _ = ask("POST", "/api/act", {"do": "label", "nodes": [0], "label": "birch", "version": 0})
    assert status == 409
    assert decode(body)[0]["version"] == 1
    assert session.labelling.classes == ["ash"]


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"\xff\xfe",
        pytest.param(b"[" * 200_000, id="nested"),
        b'{"do": "label", "nodes": [1e400], "label": "x", "version": 0}',
        b'{"do": "label", "nodes": [1], "label": "nan", "version": 0}',
        b'{"do": "label", "nodes": [1], "label": "x"}',
        b'{"do": "label", "nodes": [1], "label": "x", "version": {}}',
        b'{"do": "import", "labels": 5, "version": 0}',
        b'{"do": "next", "version": 0}',
        b'{"do": "next", "node": Infinity, "version": 0}',
        *(
            f'{{"do": "label", "nodes": [1], "label": "x", "version": 0, "{field}": {number}}}'.encode()
            for field, numbers in (("version", [*NO_INDEX, "null"]), ("stay", NO_INDEX))
            for number in numbers
        ),
    ],
)
def test_bad_bodies_are_refused_in_a_sentence_before_anything_is_written(ask, session, body):
    status, answer, _ = ask("POST", "/api/act", body)
    assert status == 400
    error = json.loads(answer)["error"]
    assert error.endswith(".")
    assert len(error) < 200
    assert session.version == 0
    assert session.journal.path.read_text().count("\n") == 1


def test_a_body_that_is_nested_too_deeply_is_refused(ask, session):
    status, answer, _ = ask("POST", "/api/act", b"[" * 200_000)
    assert status == 400
    assert json.loads(answer)["error"]
    assert session.version == 0


def test_an_answer_to_a_body_that_is_too_large_can_be_read(server, session):
    # more than the buffers of both sockets hold, and sent before the answer is read
    body = b" " * (server_module.MAX_ACTION + 8_000_000)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
        host = f"127.0.0.1:{server.port}"
        client.sendall(
            f"POST /api/act HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Type: "
            f"application/json\r\nCookie: {server.cookie}={server.secret}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
        )
        client.sendall(body)
        client.shutdown(socket.SHUT_WR)
        answer = client.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"at most 4,000,000 bytes" in answer


@pytest.mark.parametrize(
    "line", [b"PUT / HTTP/1.1", b"GET / HTTP/9.9", b"nonsense of no kind", b"GET /" + b"x" * 70_000]
)
def test_requests_of_other_kinds_are_answered_in_json(server, line):
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
        client.sendall(line + b"\r\nContent-Length: 0\r\n\r\n")
        answer = client.makefile("rb").read()
    assert json.loads(answer.split(b"\r\n\r\n")[-1])["error"]


def test_idle_connections_make_room_for_the_page(server, ask):
    host = {"Host": f"127.0.0.1:{server.port}", "Cookie": f"{server.cookie}={server.secret}"}
    page = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    page.request("GET", "/api/version", headers=host)
    page.getresponse().read()
    before = threading.active_count()
    idle = [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(200)]
    try:
        # some have begun a request that never ends
        for client in idle[150:]:
            client.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        assert ask("GET", "/api/version")[0] == 200
        # the oldest were closed, and the connection of the page was not
        assert idle[0].recv(1) == b""
        deadline = time.monotonic() + 20
        while threading.active_count() > before + server_module.MAX_CONNECTIONS:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        page.request("GET", "/api/version", headers=host)
        assert page.getresponse().status == 200
    finally:
        page.close()
        for client in idle:
            client.close()


def test_a_connection_that_asks_nothing_is_closed(session):
    class Hasty(LabelServer):
        patience = 0.1

    assert LabelServer.patience <= 10
    with Hasty(session) as server:
        server.start()
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
            assert client.recv(1) == b""
        server.shutdown()


def test_large_and_endless_bodies_are_refused_unread(ask):
    for path, most in (("act", 4_000_000), ("import?format=csv&version=0", 64_000_000)):
        assert ask("POST", f"/api/{path}", None, Content_Length=str(most + 1))[0] == 413
    assert ask("POST", "/api/act", None, Content_Length="99999999999999")[0] == 413
    assert ask("POST", "/api/act", None, Content_Length=None)[0] == 411
    assert ask("POST", "/api/act", None, Content_Length="-1")[0] == 411


def test_labels_go_in_and_out(ask, session):
    table = b'id,label\nn3,ash\nn4,"birch, white"\ngone,ash\n'
    status, body, _ = ask("POST", "/api/import?format=csv&version=0", table)
    assert status == 200
    assert decode(body)[0]["message"] == "2 labels imported; 1 of unknown nodes left out."
    status, content, headers = ask("GET", "/api/export?format=csv")
    assert content == b'id,label\nn3,ash\nn4,"birch, white"\n'
    assert headers["Content-Disposition"] == 'attachment; filename="labels.csv"'
    parquet = ask("GET", "/api/export?format=parquet")[1]
    assert parquet[:4] == b"PAR1"
    ask("POST", "/api/act", {"do": "undo", "version": 1})
    assert session.labels()["id"] == []
    status, body, _ = ask("POST", "/api/import?format=parquet&version=2", parquet)
    assert status == 200
    assert session.labels() == {"id": ["n3", "n4"], "label": ["ash", "birch, white"]}
    for query, content in (
        ("format=exe&version=3", table),
        ("format=csv&version=3", b""),
        ("format=parquet&version=3", b"PAR1"),
    ):
        status, body, _ = ask("POST", f"/api/import?{query}", content)
        assert status == 400, query
        assert "/tmp" not in json.loads(body)["error"]
    assert ask("GET", "/api/export?format=../x")[0] == 400


def test_nodes_are_found_and_shown(ask):
    assert [node["id"] for node in json.loads(ask("GET", "/api/search?q=N8")[1])][:2] == ["n8", "n80"]
    assert json.loads(ask("GET", "/api/node?i=5")[1])["id"] == "n5"
    for bad in ("-1", "90", "x", ""):
        assert ask("GET", f"/api/node?i={bad}")[0] == 400
    assert ask("GET", "/api/node")[0] == 400
    assert np.frombuffer(ask("GET", "/api/map")[1], "<f4").shape == (180,)
    assert ask("GET", "/nothing")[0] == 404
    assert ask("POST", "/nothing", {})[0] == 404


def test_many_requests_at_once_leave_one_order_of_actions(ask, session):
    statuses = []

    def push(node):
        for _ in range(50):
            status, _, _ = ask(
                "POST", "/api/act", {"do": "label", "nodes": [node], "label": "x", "version": session.version}
            )
            statuses.append(status)
            if status == 200:
                return

    threads = [threading.Thread(target=push, args=(node,)) for node in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) <= {200, 409}
    assert sorted(session.labelling.codes) == list(range(12))
    assert session.version == 12
    assert session.journal.path.read_text().count('"do"') == 12


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/state", None),
        ("/api/act", b'{"do": "skip", "nodes": [1], "version": 0}'),
        ("/api/import?format=csv&version=0", b"id,label\nn1,ash\n"),
        ("/api/node?i=0", None),
        ("/api/search?q=n", None),
    ],
)
def test_the_labels_are_free_while_an_answer_is_sent(ask, session, monkeypatch, path, body):
    free = []

    def try_lock():
        got = session.lock.acquire(blocking=False)
        free.append(got)
        if got:
            session.lock.release()

    def send(handler, status):
        # the lock is reentrant, so another thread must try it
        other = threading.Thread(target=try_lock)
        other.start()
        other.join()
        sent(handler, status)

    sent = BaseHTTPRequestHandler.send_response
    monkeypatch.setattr(BaseHTTPRequestHandler, "send_response", send)
    assert ask("GET" if body is None else "POST", path, body)[0] == 200
    assert free == [True]


def test_a_taken_port_is_named(server, session):
    with pytest.raises(OSError, match=f"port {server.port} is taken"):
        LabelServer(session, server.port)


def test_an_answer_is_bounded_however_many_nodes_are_labelled_at_once(make_problem):
    problem, truth = make_problem(n=2000)
    session = server_module.Session(problem, layout=False)
    session.act({"do": "label", "nodes": [0], "label": truth[0]}, 0)
    session.act({"do": "label", "nodes": list(range(1, 1900)), "label": truth[1]}, 1)
    suggestion = session.suggest()
    answer = server_module.frame(session, session.state() | {"card": session.card(*suggestion)})
    # three bytes per node, plus lists of bounded length
    assert len(answer) < 3 * 2000 + 30_000


@pytest.mark.parametrize("session", ["numbers"], indirect=True)
def test_numbers_are_taken_as_they_are_typed(ask, session):
    def act(label, version):
        action = {"do": "label", "nodes": [4], "label": label, "version": version, "stay": 4}
        return ask("POST", "/api/act", action)

    status, body, _ = act(" -2.50", 0)
    state, guesses, confidences = decode(body)
    assert (status, state["answers"], state["labelled"], state["card"]["label"]) == (200, "numbers", 1, -2.5)
    assert confidences[4] == 255
    assert guesses[4] == state["card"]["code"] < 65_535
    for label, why in (("inf", "'inf' is not a number"), ("1e999", "too large")):
        status, body, _ = act(label, 1)
        assert status == 400
        assert why in json.loads(body)["error"]
    # Python would read this as infinity
    body = b'{"do": "label", "nodes": [4], "label": 1e999, "version": 1}'
    assert ask("POST", "/api/act", body)[0] == 400
    assert session.labelling.codes == {4: -2.5}
    assert session.version == 1


@pytest.mark.parametrize("session", ["numbers"], indirect=True)
def test_numbers_are_imported_and_exported(ask, session):
    table = b"id;value\nn1;1,5\nn2;2,25\n"
    status, body, _ = ask("POST", "/api/import?format=csv&version=0", table)
    assert (status, decode(body)[0]["message"]) == (200, "2 labels imported.")
    assert ask("GET", "/api/export?format=csv")[1].split() == [b"id,value", b"n1,1.5", b"n2,2.25"]
    status, body, _ = ask("POST", "/api/import?format=csv&version=1", b"id,value\nn1,ash\n")
    assert status == 400
    assert "'ash' of id 'n1' in column 'value' is not a finite number" in json.loads(body)["error"]
    assert session.version == 1
