// SPDX-License-Identifier: MIT
//
// redsync 4.18.1 (github.com/go-redsync/redsync/v4) on go-redis 9.23.0: Redlock.
//
// Used as https://pkg.go.dev/github.com/go-redsync/redsync/v4 says: New(pools...).NewMutex(name, WithExpiry(ttl)), LockContext, TryLock, Extend, Valid, Unlock. Until() is the end of the
// validity. It promises "a distributed mutual exclusion lock implementation for Go as described in this blog post", which is Redlock. It asks all servers at once, and has
// 32 tries, 50 to 250 ms apart. The context of each server ends after 5 % of the ttl, but go-redis does not look at it (ContextTimeoutEnabled) and waits 5 s (ReadTimeout).
// What breaks it: a holder that works longer than the lease, and a master that restarts empty. It tells of no loss.
// What it keeps to itself: go-redis repeats a command whose answer did not come, up to 3 times (MaxRetries), so SET NX meets its own key.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/go-redsync/redsync/v4"
	pool "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
)

type redsyncLock struct {
	ttl   time.Duration
	sync  *redsync.Redsync
	locks map[string]*redsync.Mutex
}

func (l *redsyncLock) open(servers []*url.URL, ttl time.Duration) error {
	var pools []pool.Pool
	for _, u := range servers {
		pools = append(pools, goredis.NewPool(client(u)))
	}
	l.ttl, l.sync, l.locks = ttl, redsync.New(pools...), map[string]*redsync.Mutex{}
	return nil
}

func (l *redsyncLock) acquire(ctx context.Context, key string, wait time.Duration) (string, error) {
	m := l.sync.NewMutex(key, redsync.WithExpiry(l.ttl))
	l.locks[key] = m
	err := error(nil)
	if wait == 0 {
		err = m.TryLock()
	} else {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
		err = m.LockContext(ctx)
	}
	var taken *redsync.ErrTaken
	switch {
	case err == nil:
		return fmt.Sprintf("granted validity_ms=%d", max(0, time.Until(m.Until()).Milliseconds())), nil
	case errors.As(err, &taken):
		return "busy", nil
	case errors.Is(err, redsync.ErrFailed) || ctx.Err() != nil:
		return "timeout", nil // it has deleted what it got
	}
	return "", err
}

func (l *redsyncLock) extend(ctx context.Context, key string) (string, error) {
	ok, err := l.locks[key].Extend()
	return told(ok, err)
}

func (l *redsyncLock) holds(ctx context.Context, key string) (string, error) {
	ok, err := l.locks[key].Valid()
	return told(ok, err)
}

func (l *redsyncLock) release(ctx context.Context, key string) (string, error) {
	ok, err := l.locks[key].Unlock()
	return told(ok, err)
}

// An answer of the servers is no error here: the key is gone, or another one's.
func told(ok bool, err error) (string, error) {
	var taken *redsync.ErrTaken
	var node *redsync.RedisError
	switch {
	case ok:
		return "ok", nil
	case err == nil || errors.As(err, &taken) || errors.Is(err, redsync.ErrLockAlreadyExpired) && !errors.As(err, &node):
		return "lost", nil
	}
	return "", err
}
