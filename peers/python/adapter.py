# SPDX-License-Identifier: MIT
#
# What the adapters in Python share: the line protocol of README.md, and nothing of any lock. (reference.py stands alone.)
#
# An adapter hands serve() an object with one method per request. A method answers with a text: "granted", "busy", "ok", ... It may raise:
# then nobody knows what became of the request, and that is the answer. `open` that raises has failed.
import os
import queue
import sys
import threading
from urllib.parse import quote, unquote, urlsplit

_write, _asked = threading.Lock(), set()
# Nothing that a library prints may come between our lines: from here on, file 1 is stderr.
_out = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
os.dup2(2, 1)


def say(text):
    """One line, as one write, whichever thread says it."""
    text = "".join(c if c.isprintable() else " " for c in text)[:2000]
    with _write:
        _out.write(text + "\n")
        _out.flush()


def told(kind, text):
    """What the library says unasked: kind is doubt or lost."""
    say("! %s %s" % (kind, text))


def value(text):
    """Of NAME=VALUE."""
    return quote(str(text), safe="/:{},.@+=_-'")


def failed(kind, error):
    """`error TEXT` or `unknown TEXT` of an exception."""
    return "%s %s: %s" % (kind, type(error).__name__, error)


class Request:
    """Of a line: its number, its word, its values as attributes (None if absent), its servers as parts of URLs."""

    def __init__(self, line):
        words = line.rstrip("\n").split(" ")
        self.number, self.word = words[0], words[1]
        pairs = [(name, unquote(text)) for name, _, text in (w.partition("=") for w in words[2:])]
        self._values = dict(pairs)
        self.urls = [text for name, text in pairs if name == "server"]
        if any(url.startswith("sentinel") for url in self.urls):  # who knows Sentinels asks them, not the servers behind
            self.urls = [url for url in self.urls if url.startswith("sentinel")]
        self.servers = [urlsplit(url) for url in self.urls]

    def __getattr__(self, name):
        text = self._values.get(name)
        return int(text) if text is not None and name.endswith("_ms") else text

    @property
    def ttl(self):
        """In seconds, as most libraries in Python have it."""
        return self.ttl_ms / 1000

    @property
    def ttl_whole(self):
        """In whole seconds, rounded up, for libraries that have no fractions."""
        return -(-self.ttl_ms // 1000)

    @property
    def wait(self):
        return self.wait_ms / 1000

    def hosts(self):
        """host:port of every server, with commas."""
        return ",".join("%s:%d" % (s.hostname, s.port) for s in self.servers)

    def login(self):
        """User and password of the first server, decoded, or None."""
        first = self.servers[0]
        return tuple(unquote(x) if x else None for x in (first.username, first.password))


def _answer(peer, request):
    if request.word in ("ping", "quit"):
        return "ok"
    if request.word not in ("open", "acquire", "extend", "holds", "release", "stop", "work", "record"):
        return "error no such request: %s" % request.word
    method = getattr(peer, request.word, None)
    if method is None:
        return "error the library offers no %s" % request.word
    if request.word == "acquire":
        _asked.add(request.key)
    elif request.word not in ("open", "stop", "record") and not request.token and request.key not in _asked:
        return "lost"  # never asked for: nothing that a library could be asked about
    try:
        return method(request) or "ok"
    except Exception as e:  # pylint: disable=broad-except
        return failed("error" if request.word == "open" else "unknown", e)


def serve(peer, **words):
    """Says what we are, answers one request after the other, ends with stdin. A thread of its own reads: a library that hangs in a call cannot keep us alive."""
    say("lockbench-adapter 1 " + " ".join("%s=%s" % (name, value(text)) for name, text in words.items()))
    requests, idle = queue.Queue(), threading.Event()

    def read():
        for line in sys.stdin:
            requests.put(line)
        requests.put("")
        idle.wait(1)  # what was asked before the end is answered, if that takes no longer
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        line = requests.get()
        if not line:
            break
        request = Request(line)
        say("%s %s" % (request.number, _answer(peer, request)))
        if request.word == "quit":
            break
    idle.set()
    os._exit(0)  # threads of libraries do not keep us, either
