#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# A lock of an object store that it finds by itself: a folder, in which an object is put only if there is none (lxc/incus 3651). Arguments: FOLDER HOW [CAN].
# HOW: `atomic`; `ignores`: the store overwrites; `looks`: it looks first and writes a millisecond later; `stays`: a release answers ok and leaves the object;
# `lies`: the record of a held lock is called absent; `shrugs`: nobody knows of a record. CAN is what it says that it can: `record`.
import os, secrets, sys, time
from urllib.parse import unquote

folder, how, can = sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "record"
tags = {}


def put(path, tag):
    try:
        with open(path, "w" if how == "ignores" else "x", encoding="ascii") as f:
            f.write(tag)
        return True
    except FileExistsError:
        return False


def look_and_put(path, tag):
    if os.path.exists(path):
        return False
    time.sleep(0.001)
    with open(path + "." + tag, "w", encoding="ascii") as f:
        f.write(tag)
    os.rename(path + "." + tag, path)
    return True


def acquire(path, key, wait):
    end, tag = time.monotonic() + wait / 1000, secrets.token_hex(8)
    while not (look_and_put if how == "looks" else put)(path, tag):
        if time.monotonic() >= end:
            return "busy"
        time.sleep(0.005)
    tags[key] = tag
    return "granted token=" + tag


def release(path, key):
    try:
        with open(path, encoding="ascii") as f:
            if f.read() != tags.get(key):
                return "lost"
        if how != "stays":
            os.unlink(path)
        return "ok"
    except FileNotFoundError:
        return "lost"


def answer(word, of):
    key = of.get("key", "")
    path = os.path.join(folder, key.replace("/", "_"))
    if word == "acquire":
        return acquire(path, key, int(of["wait_ms"]))
    if word == "release":
        return release(path, key)
    if word == "record":
        return "gone" if how == "shrugs" else "present" if os.path.exists(path) and how != "lies" else "absent"
    return "ok"


print("lockbench-adapter 1 name=bucket-%s version=1 topologies=none ends=never can=%s record=" % (how, can), flush=True)
for line in sys.stdin:
    number, word, *pairs = line.split()
    print(number, answer(word, {name: unquote(text) for name, _, text in (p.partition("=") for p in pairs)}), flush=True)
    if word == "quit":
        break
