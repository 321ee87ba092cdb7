// SPDX-License-Identifier: MIT
//
// etcd's own client in Go, 3.7.3 (go.etcd.io/etcd/client/v3): concurrency.Mutex. Its elder, 3.4.23, is etcd-mutex.go.
//
// Used as https://pkg.go.dev/go.etcd.io/etcd/client/v3/concurrency and its examples show: New(), a Session with the ttl (whole seconds) "kept alive for the lifetime of a client",
// NewMutex(session, prefix), Lock(ctx), TryLock(ctx), Unlock(ctx). Session.Done() "closes when the lease is orphaned, expires, or is otherwise no longer being refreshed": that is `lost` here, and
// the next acquire has a new session. `holds` is a transaction with Mutex.IsOwner(). It promises: "If the context is canceled while trying to acquire the lock, the mutex tries to clean its stale lock entry."
// What breaks it: a holder that does not listen to Done() and works on after its lease. A waiter whose lease ended in the queue now hears ErrSessionExpired (mutex.go:104).
// What it keeps to itself: Unlock() is nil for a key that is gone (mutex.go:144).
package main

import (
	"context"
	"errors"
	"net/url"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

type etcdLock struct {
	client  *clientv3.Client
	session *concurrency.Session
	ttl     time.Duration
	locks   map[string]*concurrency.Mutex
}

func (l *etcdLock) renew() (err error) {
	l.session, err = concurrency.NewSession(l.client, concurrency.WithTTL(int((l.ttl+time.Second-1)/time.Second)))
	if err == nil {
		done := l.session.Done()
		go func() { <-done; say("! lost the session is done") }()
	}
	return err
}

// Also for client-go.go.
func etcdClient(servers []*url.URL) (*clientv3.Client, error) {
	config := clientv3.Config{DialTimeout: 2 * time.Second}
	for _, u := range servers {
		config.Endpoints = append(config.Endpoints, map[string]string{"etcd": "http://", "etcds": "https://"}[u.Scheme]+u.Host)
		config.Username, config.Password = login(u)
	}
	return clientv3.New(config)
}

func (l *etcdLock) open(servers []*url.URL, ttl time.Duration) (err error) {
	l.ttl, l.locks = ttl, map[string]*concurrency.Mutex{}
	if l.client, err = etcdClient(servers); err != nil {
		return err
	}
	return l.renew()
}

func (l *etcdLock) acquire(ctx context.Context, key string, wait time.Duration) (string, error) {
	select {
	case <-l.session.Done():
		if err := l.renew(); err != nil {
			return "", err
		}
	default:
	}
	m := concurrency.NewMutex(l.session, key)
	l.locks[key] = m
	limit := wait
	if wait == 0 {
		limit = l.ttl
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := error(nil)
	if wait == 0 {
		err = m.TryLock(ctx)
	} else {
		err = m.Lock(ctx)
	}
	switch {
	case err == nil:
		return "granted", nil
	case errors.Is(err, concurrency.ErrLocked), m.Key() == "\x00":
		return "busy", nil // it stood behind another one, and has taken its key away
	case errors.Is(err, concurrency.ErrSessionExpired):
		return "timeout", nil
	}
	return "", err
}

func (l *etcdLock) holds(ctx context.Context, key string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, l.ttl)
	defer cancel()
	found, err := l.client.Txn(ctx).If(l.locks[key].IsOwner()).Commit()
	if err == nil && !found.Succeeded {
		return "lost", nil
	}
	return "ok", err
}

func (l *etcdLock) release(ctx context.Context, key string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, l.ttl)
	defer cancel()
	return unless(concurrency.ErrLockReleased, l.locks[key].Unlock(ctx))
}
