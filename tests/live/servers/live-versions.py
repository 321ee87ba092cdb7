# test: beside
# SPDX-License-Identifier: MIT
"""live-versions.py LOCKBENCH - a run records what is there. A server that says it is a Valkey is recorded as one, and its mode is read by its own
name; a library that is not the one that peers.ini names is recorded, and is a note. The Valkey is a real one where there is one, else Debian's
Redis behind a relay that puts Valkey's lines into INFO. Speaks TAP."""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))
import tap  # noqa: E402

LOCKBENCH = os.path.abspath(sys.argv[1])
SAYS = b"redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2\r\nserver_mode:%s\r\n"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_server(folder):
    """A server without a disk, and its port."""
    real = shutil.which("valkey-server") or shutil.which("valkey-check-rdb")
    program = real or shutil.which("redis-server") or shutil.which("redis-check-rdb")
    port = free_port()
    words = ["valkey-server" if real else "redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
    server = subprocess.Popen(words, executable=program, stdout=subprocess.DEVNULL)
    for _ in range(500):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return server, port, bool(real)
        except OSError:
            time.sleep(0.02)
    raise SystemExit("the server did not start")


def pour(source, sink, mode):
    """Bytes from one to the other. mode: what the answer to INFO says of it; None passes all."""
    try:
        while data := source.recv(1 << 20):
            begin = data.find(b"# Server\r\n")
            if mode and begin >= 0:
                text = re.sub(rb"(redis_version|redis_mode|server_mode|server_name|valkey_version):.*?\r\n", b"", data[begin:]).rstrip(b"\r\n") + b"\r\n" + SAYS % mode
                data = b"$%d\r\n%s\r\n" % (len(text), text)
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def relay(port, mode):
    """The port of a relay to `port`."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            client = listener.accept()[0]
            server = socket.create_connection(("127.0.0.1", port))
            threading.Thread(target=pour, args=(client, server, None), daemon=True).start()
            threading.Thread(target=pour, args=(server, client, mode), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


def run(folder, *words, **env):
    said = subprocess.run([LOCKBENCH, "run", "contention", "-n", "1", "-s", "clients=2", "-s", "duration_s=1", "-o", folder, *words],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, env={**os.environ, **env})
    try:
        return said, json.loads(pathlib.Path(folder, "run.json").read_text())
    except OSError:
        return said, {}


def told(said):
    return f"exit {said.returncode}: {said.stdout[-400:]} {said.stderr[-400:]}".splitlines()


def try_valkey(work):
    server, port, real = start_server(work)
    try:
        at = port if real else relay(port, b"standalone")
        said, record = run(f"{work}/valkey", "-b", "redis-token", "--redis", f"127.0.0.1:{at}")
        found = " ".join(record.get("servers", {}).values())
        good = re.match(r"valkey \d+\.\d+\.\d+ at " if real else r"valkey 9\.1\.2 at ", found)
        tap.check("a Valkey is recorded as one", [] if good and said.returncode == 0 else [f"servers: '{found}'", *told(said)])
        said, _ = run(f"{work}/mode", "-b", "redis-token", "--redis", f"127.0.0.1:{relay(port, b'cluster')}")
        good = "runs in mode 'cluster': expected 'standalone'" in said.stderr and "valkey" in said.stderr
        tap.check("its mode is read by its own name", [] if good and said.returncode != 0 else told(said))
    finally:
        server.kill()
        server.wait()


def try_library(work):
    """The adapter in the manual says version 1. A tree in which peers.ini says something else is the same but for that."""
    tree = pathlib.Path(work, "tree")
    (tree / "peers").mkdir(parents=True)
    for entry in ROOT.iterdir():
        if entry.name not in ("peers", ".git", "results", "build"):
            (tree / entry.name).symlink_to(entry)
    for entry in (ROOT / "peers").iterdir():
        if entry.name != "peers.ini":
            (tree / "peers" / entry.name).symlink_to(entry)
    text = (ROOT / "peers" / "peers.ini").read_text()
    (tree / "peers" / "peers.ini").write_text(text.replace("version = 1\n", "version = 0.9\n", 1))
    said, record = run(f"{work}/library", "-b", "peer:reference", LOCKBENCH_ROOT=str(tree))
    found = record.get("libraries", {}).get("peer:reference")
    tap.check("a library of another version is recorded, and runs", [] if found == {"version": "1", "stated": "0.9"} and said.returncode == 0
              else [f"libraries: {found}", *told(said)])
    tap.check("a note names both versions", [] if "peer:reference is 1 here; its facts were found with 0.9" in said.stderr else told(said))


if not any(map(shutil.which, ("valkey-server", "valkey-check-rdb", "redis-server", "redis-check-rdb"))):
    print("1..0 # SKIP no Redis is installed")
    sys.exit(0)
with tempfile.TemporaryDirectory() as work:
    os.chmod(work, 0o755)
    try_valkey(work)
    try_library(work)
sys.exit(tap.end())
