// SPDX-License-Identifier: MIT
//
// etcd's own client in Go, 3.4.23 (golang-etcd-server-dev 3.4.23-4): concurrency.Mutex of clientv3. Compiled by ./bench peers.
//
// Used as https://pkg.go.dev/go.etcd.io/etcd/clientv3/concurrency and its example_mutex_test.go show: clientv3.New(), a Session with the ttl (whole seconds) "kept alive for the lifetime
// of a client", NewMutex(session, prefix), Lock(ctx), Unlock(ctx). Session.Done() "closes when the lease is orphaned, expires, or is otherwise no longer being refreshed": that is `lost`
// here, and the next acquire has a new session. `holds` is a transaction with Mutex.IsOwner(), as the comment of etcdctl's election has it. It promises: "Lock locks the mutex with a
// cancelable context. If the context is canceled while trying to acquire the lock, the mutex tries to clean its stale lock entry."
// What breaks it: a waiter whose lease ended in the queue. Lock() waits until the older keys are gone, and does not look for its own (mutex.go:70-77; 3.5 looks).
// What it keeps to itself: Unlock() is nil for a key that is gone (mutex.go:80-88). It has no single try (3.5 has TryLock): a try without waiting gets 350 ms. Lock() hides whether it could
// clean up after its context; Key() is "\x00" where it did.
//go:build ignore

package main

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
	"go.etcd.io/etcd/version"
)

var (
	client  *clientv3.Client
	session *concurrency.Session
	ttl     time.Duration
	locks   = map[string]*concurrency.Mutex{}
)

func say(format string, values ...interface{}) { // one write, whoever says it
	fmt.Println(strings.ReplaceAll(fmt.Sprintf(format, values...), "\n", " "))
}

func newSession() error {
	s, err := concurrency.NewSession(client, concurrency.WithTTL(int((ttl+time.Second-1)/time.Second)))
	if err != nil {
		return err
	}
	session = s
	go func() { <-s.Done(); say("! lost the session is done") }()
	return nil
}

func open(of map[string]string, servers []string) (err error) {
	config := clientv3.Config{DialTimeout: 2 * time.Second}
	for _, server := range servers {
		if u, err := url.Parse(server); err == nil {
			config.Endpoints = append(config.Endpoints, map[string]string{"etcd": "http://", "etcds": "https://"}[u.Scheme]+u.Host)
			config.Username = u.User.Username()
			config.Password, _ = u.User.Password()
		}
	}
	if client, err = clientv3.New(config); err != nil {
		return err
	}
	ttl, _ = time.ParseDuration(of["ttl_ms"] + "ms")
	return newSession()
}

func acquire(key, waitMs string) (string, error) {
	select {
	case <-session.Done():
		if err := newSession(); err != nil {
			return "", err
		}
	default:
	}
	wait, _ := time.ParseDuration(waitMs + "ms")
	if wait == 0 {
		wait = 350 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	m := concurrency.NewMutex(session, key)
	locks[key] = m
	err := m.Lock(ctx)
	if err != nil && m.Key() == "\x00" {
		return "busy", nil // it stood behind another one, and has taken its key away
	}
	return "granted", err
}

func answer(word string, of map[string]string, servers []string) (string, error) {
	m := locks[of["key"]]
	ctx, cancel := context.WithTimeout(context.Background(), ttl)
	defer cancel()
	switch {
	case word == "open":
		return "ok", open(of, servers)
	case word == "acquire":
		return acquire(of["key"], of["wait_ms"])
	case (word == "holds" || word == "release") && m == nil:
		return "lost", nil
	case word == "holds":
		found, err := client.Txn(ctx).If(m.IsOwner()).Commit()
		if err == nil && !found.Succeeded {
			return "lost", nil
		}
		return "ok", err
	case word == "release":
		err := m.Unlock(ctx)
		if err == nil {
			delete(locks, of["key"])
		}
		return "ok", err
	case word == "ping" || word == "quit":
		return "ok", nil
	}
	return "error the library offers no " + word, nil
}

func main() {
	say("lockbench-adapter 1 name=etcd-mutex version=%s topologies=etcd-x3,etcd ends=session can=holds,signal record={key} clock=no", version.Version)
	requests := make(chan string, 100)
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			requests <- in.Text()
		}
		close(requests)
		time.Sleep(900 * time.Millisecond) // what was asked before the end is answered, if that takes no longer
		os.Exit(0)
	}()
	for line := range requests {
		words := strings.Split(line, " ")
		of, servers := map[string]string{}, []string{}
		for _, word := range words[2:] {
			pair := strings.SplitN(word+"=", "=", 3)
			of[pair[0]], _ = url.PathUnescape(pair[1])
			if pair[0] == "server" {
				servers = append(servers, of[pair[0]])
			}
		}
		said, err := answer(words[1], of, servers)
		if err != nil {
			said = map[bool]string{true: "error ", false: "unknown "}[words[1] == "open"] + err.Error()
		}
		say("%s %s", words[0], said)
		if words[1] == "quit" {
			break
		}
	}
}
