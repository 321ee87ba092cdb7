// SPDX-License-Identifier: MIT
//
// rueidislock of rueidis 1.0.79 (github.com/redis/rueidis): three keys per lock on one Redis, of which a majority holds.
//
// Used as https://pkg.go.dev/github.com/redis/rueidis/rueidislock says: NewLocker(LockerOption{KeyMajority: 2, NoLoopTracking: true}), WithContext(ctx, name) which waits, TryWithContext
// which does not, and a context that ends with the lock: that is `lost` here. KeyValidity is the ttl; it extends at half of that by itself.
// It promises: "the lock is held until the returned context is canceled", which it is when "extending failed or the lock was lost"; waiters are woken by client-side caching.
// What breaks it: a process that is paused for longer than the ttl, a failover that loses the keys, and two clocks that differ: the end of a key is a time of the client's wall clock (SET
// with PXAT, lock.go:437). It asks each key for at most TryNextAfter (20 ms).
package main

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

type rueidisHold struct {
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
}

type rueidisLock struct {
	locker rueidislock.Locker
	held   map[string]rueidisHold
}

func (l *rueidisLock) open(servers []*url.URL, ttl time.Duration) (err error) {
	option := rueidis.ClientOption{TLSConfig: tlsOf(servers[0])}
	option.Username, option.Password = login(servers[0])
	for _, u := range servers {
		option.InitAddress = append(option.InitAddress, u.Host)
	}
	if servers[0].Scheme == "sentinel" {
		option.Sentinel = rueidis.SentinelOption{MasterSet: master, Username: option.Username, Password: option.Password}
	}
	l.held = map[string]rueidisHold{}
	l.locker, err = rueidislock.NewLocker(rueidislock.LockerOption{ClientOption: option, KeyMajority: 2, NoLoopTracking: true, KeyValidity: ttl})
	return err
}

func (l *rueidisLock) acquire(ctx context.Context, key string, wait time.Duration) (string, error) {
	var held context.Context
	var cancel context.CancelFunc
	var err error
	if wait == 0 {
		held, cancel, err = l.locker.TryWithContext(ctx, key)
	} else {
		held, cancel, err = l.waitFor(key, wait)
	}
	if errors.Is(err, rueidislock.ErrNotLocked) {
		return "busy", nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "timeout", nil // it deletes what it got
	}
	if err != nil {
		return "", err
	}
	hold := rueidisHold{held, cancel, make(chan struct{})}
	l.held[key] = hold
	go func() {
		select {
		case <-hold.done:
		case <-held.Done():
			say("! lost the context of the lock is done")
		}
	}()
	return "granted", nil
}

// The context of a hold is a child of the one that it is asked with, so a deadline for the wait must not be in there.
func (l *rueidisLock) waitFor(key string, wait time.Duration) (context.Context, context.CancelFunc, error) {
	ctx, end := context.WithCancelCause(context.Background())
	timer := time.AfterFunc(wait, func() { end(context.DeadlineExceeded) })
	held, cancel, err := l.locker.WithContext(ctx, key)
	if err != nil && !timer.Stop() {
		err = context.DeadlineExceeded
	}
	if err == nil && !timer.Stop() { // both at once
		cancel()
		err = context.DeadlineExceeded
	}
	return held, cancel, err
}

func (l *rueidisLock) release(ctx context.Context, key string) (string, error) {
	hold, there := l.held[key]
	delete(l.held, key)
	if !there {
		return "lost", nil
	}
	close(hold.done)
	lost := hold.ctx.Err() != nil
	hold.cancel()
	if lost {
		return "lost", nil
	}
	return "ok", nil
}
