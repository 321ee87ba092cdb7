// SPDX-License-Identifier: MIT
//
// Kubernetes' client-go 0.37.2 (k8s.io/client-go/tools/leaderelection): its elector, over a record in bare etcd.
//
// There is no API server here: record.go is its interface to a Lease. All else is client-go's.
// Used as https://pkg.go.dev/k8s.io/client-go/tools/leaderelection and its example do: NewLeaderElector(), Run(ctx), ReleaseOnCancel. LeaseDuration is the ttl in whole seconds; RenewDeadline and
// RetryPeriod have the proportions of the defaults (15, 10 and 2 s). OnStoppedLeading that was not asked for is `lost`. An elector goes on between two tries, as a candidate does.
// It promises no exclusion: "This implementation does not guarantee that only one client is acting as a leader (a.k.a. fencing)." It is "tolerant to arbitrary clock skew".
// What breaks it: a leader that is paused for longer than LeaseDuration, that is cut off, or that does not stop at OnStoppedLeading.
// A leader that was stopped empties the record of the next one, too: tryRelease() reads the record of today and asks IsLeader(), which knows the one of before (leaderelection.go:338).
// What it keeps to itself: that it has lost, until its release has ended, so nobody is told in time (:213; paper/findings/client-go-release.md).

//go:build clientgo

package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	election "k8s.io/client-go/tools/leaderelection"
)

// One run of the elector.
type run struct {
	leads, over chan struct{}
	end         context.CancelFunc
	asked       atomic.Bool // to end
}

type ofRun struct{} // its key in the context of its callback

type candidate struct {
	record  *record
	elector *election.LeaderElector
	now     *run // the next begins only after this one's Run() has returned
}

type clientGoLock struct {
	client     *clientv3.Client
	identity   string
	ttl        time.Duration
	candidates map[string]*candidate
}

func init() {
	libraries["client-go"] = adapter{&clientGoLock{}, "k8s.io/client-go", "topologies=etcd-x3,etcd ends=session can=signal,record record="}
}

func (l *clientGoLock) open(servers []*url.URL, ttl time.Duration) (err error) {
	host, _ := os.Hostname()
	l.identity = fmt.Sprintf("%s-%d-%d", host, os.Getpid(), time.Now().UnixNano())
	l.ttl, l.candidates = (ttl+time.Second-1)/time.Second*time.Second, map[string]*candidate{}
	l.client, err = etcdClient(servers)
	return err
}

func (l *clientGoLock) candidate(key string) (c *candidate, err error) {
	if c = l.candidates[key]; c != nil {
		return c, nil
	}
	c = &candidate{record: &record{client: l.client, key: key, identity: l.identity}}
	c.elector, err = election.NewLeaderElector(election.LeaderElectionConfig{
		Lock: c.record, LeaseDuration: l.ttl, RenewDeadline: l.ttl * 2 / 3, RetryPeriod: l.ttl * 2 / 15, ReleaseOnCancel: true, Name: key,
		Callbacks: election.LeaderCallbacks{
			// A goroutine of its own, so it may come late: the context says of which run, and is done when that no longer leads.
			OnStartedLeading: func(ctx context.Context) {
				if ctx.Err() == nil {
					ctx.Value(ofRun{}).(*run).leads <- struct{}{}
				}
			},
			OnStoppedLeading: func() {
				if !c.now.asked.Load() {
					say("! lost OnStoppedLeading was called")
				}
			},
		},
	})
	if err == nil {
		l.candidates[key] = c
	}
	return c, err
}

func (l *clientGoLock) acquire(ctx context.Context, key string, wait time.Duration) (string, error) {
	c, err := l.candidate(key)
	if err != nil {
		return "", err
	}
	if c.now != nil {
		c.stop("")
	}
	if wait == 0 {
		wait = 350 * time.Millisecond // it has no single try
	}
	now := &run{leads: make(chan struct{}, 1), over: make(chan struct{})}
	ctx, now.end = context.WithCancel(context.WithValue(ctx, ofRun{}, now))
	c.now = now
	c.record.unsure.Store(false) // a write without an answer belongs to the run that made it
	go func() { c.elector.Run(ctx); close(now.over) }()
	select {
	case <-now.leads:
		return "granted", nil
	case <-now.over: // it lost again before its callback was called
	case <-time.After(wait):
	}
	return c.stop("busy") // it gives back what it is granted meanwhile
}

func (c *candidate) stop(done string) (string, error) {
	c.now.asked.Store(true)
	c.now.end()
	<-c.now.over
	if c.record.unsure.Load() {
		return "", fmt.Errorf("the last write has no answer")
	}
	return done, nil
}

func (l *clientGoLock) release(_ context.Context, key string) (string, error) {
	c := l.candidates[key]
	select {
	case <-c.now.over:
		return "lost", nil
	default:
	}
	return c.stop("ok")
}
