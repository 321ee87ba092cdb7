#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# For live-own.sh: what an operator asks of an etcd, by its JSON gateway, in the words of etcdctl (which is a package that nothing else here needs):
#   etcd_ask.py URL CA_FILE [--user NAME:PASSWORD] put KEY VALUE | get --prefix '' | user add NAME:PASSWORD | user grant-role NAME ROLE | role add NAME |
#     role grant-permission NAME --prefix=true readwrite PREFIX | auth enable
import base64
import json
import ssl
import sys
import urllib.request


def b64(text):
    return base64.b64encode(text.encode()).decode()


def after(prefix):
    return prefix[:-1] + chr(ord(prefix[-1]) + 1) if prefix else "\0"


class Etcd:
    def __init__(self, url, ca):
        self.url, self.context, self.token = url, ssl.create_default_context(cafile=ca), None
        self.context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # from Python 3.13 on it asks for extensions that openssl's own commands leave out

    def ask(self, path, **body):
        head = {"Content-Type": "application/json", **({"Authorization": self.token} if self.token else {})}
        request = urllib.request.Request(self.url + "/v3/" + path, json.dumps(body).encode(), head)
        with urllib.request.urlopen(request, timeout=5, context=self.context) as reply:
            return json.load(reply)

    def login(self, user):
        name, _, password = user.partition(":")
        self.token = self.ask("auth/authenticate", name=name, password=password)["token"]


def do(etcd, words):
    if words[0] == "put":
        etcd.ask("kv/put", key=b64(words[1]), value=b64(words[2]))
    elif words[0] == "get":
        said = etcd.ask("kv/range", key=b64("\0"), range_end=b64("\0"), sort_order="ASCEND")
        for pair in said.get("kvs", []):
            print(base64.b64decode(pair["key"]).decode(), base64.b64decode(pair.get("value", "")).decode(), sep="\n")
    elif words[:2] == ["user", "add"]:
        name, _, password = words[2].partition(":")
        etcd.ask("auth/user/add", name=name, password=password)
    elif words[:2] == ["user", "grant-role"]:
        etcd.ask("auth/user/grant", user=words[2], role=words[3])
    elif words[:2] == ["role", "add"]:
        etcd.ask("auth/role/add", name=words[2])
    elif words[:2] == ["role", "grant-permission"]:
        etcd.ask("auth/role/grant", name=words[2], perm={"permType": 2, "key": b64(words[-1]), "range_end": b64(after(words[-1]))})
    elif words == ["auth", "enable"]:
        etcd.ask("auth/enable")
    else:
        sys.exit("etcd_ask.py: nobody knows '%s'" % " ".join(words))


def main():
    url, ca, words = sys.argv[1], sys.argv[2], sys.argv[3:]
    etcd = Etcd(url, ca)
    if words[0] == "--user":
        etcd.login(words[1])
        words = words[2:]
    do(etcd, words)


main()
