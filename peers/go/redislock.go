// SPDX-License-Identifier: MIT
//
// redislock 0.9.4 (github.com/bsm/redislock) on go-redis 9.23.0.
//
// Used as https://pkg.go.dev/github.com/bsm/redislock says: New(client).Obtain(ctx, key, ttl, LinearBackoff(100 ms)), Refresh, TTL, Release. It promises "simplified distributed locking
// implementation using Redis".
// What breaks it: a holder that works longer than the lease, and a failover that loses the key. It tells of neither.
// What it keeps to itself: go-redis repeats a command whose answer did not come, up to 3 times (MaxRetries); its script knows its own token again.
package main

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// Of go-redis, also for redsync.go.
func client(servers ...*url.URL) redis.UniversalClient {
	user, password := login(servers[0])
	options := &redis.UniversalOptions{Username: user, Password: password, TLSConfig: tlsOf(servers[0])}
	for _, u := range servers {
		options.Addrs = append(options.Addrs, u.Host)
	}
	if servers[0].Scheme == "sentinel" {
		options.MasterName, options.SentinelUsername, options.SentinelPassword = master, user, password
	}
	return redis.NewUniversalClient(options)
}

type redislockLock struct {
	ttl    time.Duration
	client *redislock.Client
	locks  map[string]*redislock.Lock
}

func (l *redislockLock) open(servers []*url.URL, ttl time.Duration) error {
	c := client(servers...)
	l.ttl, l.client, l.locks = ttl, redislock.New(c), map[string]*redislock.Lock{}
	return c.Ping(context.Background()).Err()
}

func (l *redislockLock) acquire(ctx context.Context, key string, wait time.Duration) (string, error) {
	l.locks[key] = nil
	options := &redislock.Options{}
	if wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
		options.RetryStrategy = redislock.LinearBackoff(100 * time.Millisecond)
	}
	lock, err := l.client.Obtain(ctx, key, l.ttl, options)
	if errors.Is(err, redislock.ErrNotObtained) {
		return "busy", nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "timeout", nil // between two tries: without ContextTimeoutEnabled no request of go-redis ends with its context
	}
	if err != nil {
		return "", err
	}
	l.locks[key] = lock
	return "granted token=" + url.PathEscape(lock.Token()), nil
}

func (l *redislockLock) extend(ctx context.Context, key string) (string, error) {
	if l.locks[key] == nil {
		return "lost", nil
	}
	return unless(redislock.ErrNotObtained, l.locks[key].Refresh(ctx, l.ttl, nil))
}

func (l *redislockLock) holds(ctx context.Context, key string) (string, error) {
	if l.locks[key] == nil {
		return "lost", nil
	}
	left, err := l.locks[key].TTL(ctx)
	if left == 0 && err == nil {
		return "lost", nil
	}
	return "ok", err
}

func (l *redislockLock) release(ctx context.Context, key string) (string, error) {
	return unless(redislock.ErrLockNotHeld, l.locks[key].Release(ctx))
}
