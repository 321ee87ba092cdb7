// SPDX-License-Identifier: MIT
//
// The election record of client-go.go in bare etcd, as client-go reads and writes a Lease (resourcelock.Interface), and what is left of it.
//
// A record is written only over the revision that was read last, as the API server does by resourceVersion. A refused write is a Conflict.

//go:build clientgo

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

type record struct {
	client        *clientv3.Client
	key, identity string
	revision      int64
	options       []clientv3.OpOption
	unsure        atomic.Bool // a write has no answer
}

func (r *record) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	found, err := r.client.Get(ctx, r.key, r.options...)
	if err != nil {
		return nil, nil, err
	}
	if len(found.Kvs) == 0 {
		return nil, nil, errors.NewNotFound(schema.GroupResource{Resource: "leases"}, r.key)
	}
	r.revision = found.Kvs[0].ModRevision
	said := &resourcelock.LeaderElectionRecord{}
	return said, found.Kvs[0].Value, json.Unmarshal(found.Kvs[0].Value, said)
}

func (r *record) write(ctx context.Context, only clientv3.Cmp, said resourcelock.LeaderElectionRecord) error {
	text, err := json.Marshal(said)
	if err != nil {
		return err
	}
	done, err := r.client.Txn(ctx).If(only).Then(clientv3.OpPut(r.key, string(text))).Commit()
	r.unsure.Store(err != nil)
	if err == nil && !done.Succeeded {
		return errors.NewConflict(schema.GroupResource{Resource: "leases"}, r.key, fmt.Errorf("it has another revision"))
	}
	if err == nil {
		r.revision = done.Header.Revision
	}
	return err
}

func (r *record) Create(ctx context.Context, said resourcelock.LeaderElectionRecord) error {
	return r.write(ctx, clientv3.Compare(clientv3.CreateRevision(r.key), "=", 0), said)
}

func (r *record) Update(ctx context.Context, said resourcelock.LeaderElectionRecord) error {
	return r.write(ctx, clientv3.Compare(clientv3.ModRevision(r.key), "=", r.revision), said)
}

func (r *record) RecordEvent(string) {}
func (r *record) Identity() string   { return r.identity }
func (r *record) Describe() string   { return r.key }

// A release leaves the record, without a holder. A server that is named says what it has itself.
func (l *clientGoLock) record(ctx context.Context, key string, servers []*url.URL) (string, error) {
	client := l.client
	var options []clientv3.OpOption
	if len(servers) > 0 {
		one, err := etcdClient(servers)
		if err != nil {
			return "", err
		}
		defer one.Close()
		client, options = one, append(options, clientv3.WithSerializable())
	}
	ctx, cancel := context.WithTimeout(ctx, l.ttl)
	defer cancel()
	said, _, err := (&record{client: client, key: key, options: options}).Get(ctx)
	if err == nil && said.HolderIdentity != "" {
		return "present", nil
	}
	if err == nil || errors.IsNotFound(err) {
		return "absent", nil
	}
	return "", err
}
