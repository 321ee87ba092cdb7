#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# etcdctl 3.4.23 (package etcd-client 3.4.23-4+b4): `etcdctl lock NAME`, a program and not a library.
#
# Used as https://github.com/etcd-io/etcd/blob/v3.4.23/etcdctl/README.md#lock-options-lockname-command-arg1-arg2- says: a child per hold, started with --ttl; when it prints the
# name of its key, it holds; it is ended with SIGINT or SIGTERM, and then unlocks. The README promises: "LOCK acquires a distributed mutex with a given name. Once the lock is
# acquired, it will be held until etcdctl is terminated." It has no bound for a wait (we end the child, as `timeout` would) and no single try: a try without waiting gets 350 ms.
# What breaks it: a child that is paused for longer than the ttl; with a COMMAND (not here), the command goes on after the session is over (command/lock_command.go).
# It tells: the child ends with "session expired" when its lease is gone by what it hears, which is `lost` here.
import ctypes
import os
import re
import select
import signal
import subprocess
import threading
import time

from adapter import serve, told, value


def die_with_us():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Peer:
    children, ours = {}, set()  # of each key its child; those that we ended

    def open(self, o):
        self.command = ["etcdctl", "--endpoints=" + ",".join("%s://%s:%d" % ("https" if s.scheme == "etcds" else "http", s.hostname, s.port) for s in o.servers)]
        user, password = o.login()
        self.env = {**os.environ, "ETCDCTL_API": "3", **({"ETCDCTL_USER": "%s:%s" % (user, password)} if user else {})}

    def end(self, child):
        """Ends a child as a user would. True: it has unlocked, or holds nothing."""
        self.ours.add(child.pid)
        child.terminate()
        try:
            return child.wait(1) in (0, 1, -signal.SIGTERM)  # its handler stands before it asks for the lock: killed by the signal, it had not asked
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            return False

    def watch(self, child):
        child.wait()
        if child.pid not in self.ours:
            told("lost", "etcdctl lock ended by itself, with exit status %d" % child.returncode)

    def acquire(self, o):
        child = self.children[o.key] = subprocess.Popen(self.command + ["lock", o.key, "--ttl=%d" % o.ttl_whole], env=self.env, stdin=subprocess.DEVNULL,
                                                        stdout=subprocess.PIPE, bufsize=0, preexec_fn=die_with_us)
        end, said = time.monotonic() + (o.wait or 0.35), b""
        while b"\n" not in said:
            if not select.select([child.stdout], [], [], max(0, end - time.monotonic()))[0]:
                return "timeout" if self.end(child) else "unknown etcdctl did not end when it was told to"
            more = os.read(child.stdout.fileno(), 4096)
            if not more:
                self.ours.add(child.pid)
                return "unknown etcdctl ended with exit status %d before it held" % child.wait()
            said += more
        threading.Thread(target=self.watch, args=(child,), daemon=True).start()
        return "granted token=" + value(said.decode().split("\n")[0])

    def release(self, o):
        child = self.children[o.key]
        if child.poll() is not None and child.pid not in self.ours:
            return "lost"
        if child.poll() is not None:
            return "lost"  # it was ended before
        self.end(child)
        return "ok" if child.returncode == 0 else "unknown exit status %d" % child.returncode


try:
    VERSION = re.search(r"version: (\S+)", subprocess.run(["etcdctl", "version"], env={**os.environ, "ETCDCTL_API": "3"}, capture_output=True, text=True, check=False).stdout)[1]
except (OSError, TypeError) as error:
    raise SystemExit("etcdctl-lock.py: etcdctl does not say its version: %s" % error)
serve(Peer(), name="etcdctl", version=VERSION, topologies="etcd-x3,etcd", ends="session", can="signal", record="{key}", clock="no")
