"""Fixtures of several files."""

import http.server
import os
import threading

import pytest

FILE = "cifar-10-binary.tar.gz"


@pytest.fixture
def serve():
    """A function that serves bytes, or {file: bytes}, on this machine and returns their URL."""
    servers = []

    def serve(content, status=200, announced=None):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                known = content if isinstance(content, dict) else {FILE: content}
                answer = known.get(os.path.basename(self.path))
                self.send_response(404 if answer is None else status)
                self.send_header("Content-Length", str(announced or len(answer or b"")))
                self.end_headers()
                self.wfile.write(answer or b"")

            def log_message(self, *_):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        file = "" if isinstance(content, dict) else FILE
        return "http://127.0.0.1:%d/%s" % (server.server_port, file)

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """A machine on which no data are found; its cache is in the folder that is returned."""
    place = tmp_path / "nowhere"
    place.mkdir()
    monkeypatch.delenv("ROSETTA_DATA", raising=False)
    monkeypatch.setenv("ROSETTA_CACHE", str(place / "cache"))
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1")
    monkeypatch.chdir(place)
    return place
