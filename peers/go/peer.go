// SPDX-License-Identifier: MIT
//
// What the locks of this module share: the line protocol of README.md, and nothing of any lock. `go-locks NAME` is the adapter of that library. Compiled by ./bench peers.
//
// A lock answers with a text: "granted", "busy", "ok", ... With an error nobody knows what became of the request; `open` with an error has failed. All run in one goroutine.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

type library interface {
	open(servers []*url.URL, ttl time.Duration) error
	acquire(ctx context.Context, key string, wait time.Duration) (string, error)
	release(ctx context.Context, key string) (string, error)
}

type extender interface {
	extend(ctx context.Context, key string) (string, error)
}

type holder interface {
	holds(ctx context.Context, key string) (string, error)
}

type recorder interface {
	record(ctx context.Context, key string, servers []*url.URL) (string, error)
}

// Of a library: itself, its module, and what its first line says.
type adapter struct {
	library
	module, says string
}

var libraries = map[string]adapter{
	"redsync":        {&redsyncLock{}, "github.com/go-redsync/redsync/v4", "topologies=redis-x3,redis-x5,redis ends=lease can=extend,holds,validity record={key}"},
	"redislock":      {&redislockLock{}, "github.com/bsm/redislock", "topologies=redis,sentinel ends=lease can=extend,holds record={key}"},
	"rueidislock":    {&rueidisLock{}, "github.com/redis/rueidis", "topologies=redis,sentinel ends=session can=signal record=rueidislock:0:{key}"},
	"etcd-mutex-3-7": {&etcdLock{}, "go.etcd.io/etcd/client/v3", "topologies=etcd-x3,etcd ends=session can=holds,signal record={key}"},
}

func say(format string, values ...any) { // one write, whoever says it
	fmt.Println(strings.ReplaceAll(fmt.Sprintf(format, values...), "\n", " "))
}

// What the library says of a hold that is gone is no error.
func unless(gone, err error) (string, error) {
	if errors.Is(err, gone) {
		return "lost", nil
	}
	return "ok", err
}

func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		if dep.Path == module {
			return strings.TrimPrefix(dep.Version, "v")
		}
	}
	return "unknown"
}

// With Sentinel, only they: the client asks them for the rest.
func parse(all []string) (servers []*url.URL, err error) {
	for _, text := range all {
		u, err := url.Parse(text)
		if err != nil {
			return nil, err
		}
		if len(servers) > 0 && u.Scheme == "sentinel" && servers[0].Scheme != "sentinel" {
			servers = nil
		}
		servers = append(servers, u)
	}
	return servers, nil
}

func login(u *url.URL) (user, password string) {
	password, _ = u.User.Password()
	return u.User.Username(), password
}

// The servers of a trial have certificates of its own.
func tlsOf(u *url.URL) *tls.Config {
	if u.Scheme == "rediss" {
		return &tls.Config{InsecureSkipVerify: true}
	}
	return nil
}

var master string // of Sentinel
var asked = map[string]bool{}

func answer(l library, word string, of map[string]string, all []string) (string, error) {
	ms := func(name string) time.Duration { d, _ := time.ParseDuration(of[name] + "ms"); return d }
	key := of["key"]
	switch word {
	case "open":
		master = of["master"]
		servers, err := parse(all)
		if err != nil {
			return "", err
		}
		return "ok", l.open(servers, ms("ttl_ms"))
	case "acquire":
		asked[key] = true
		return l.acquire(context.Background(), key, ms("wait_ms"))
	case "record":
		servers, err := parse(all)
		if r, can := l.(recorder); can && err == nil {
			return r.record(context.Background(), key, servers)
		}
		return "error the adapter offers no record", err
	case "ping", "quit":
		return "ok", nil
	case "extend", "holds", "release":
		if !asked[key] {
			return "lost", nil // never asked for: nothing that a library could be asked about
		}
		return ask(l, word, key)
	}
	return "error no such request: " + word, nil
}

// About a key that was asked for.
func ask(l library, word, key string) (string, error) {
	if e, can := l.(extender); can && word == "extend" {
		return e.extend(context.Background(), key)
	}
	if h, can := l.(holder); can && word == "holds" {
		return h.holds(context.Background(), key)
	}
	if word == "release" {
		return l.release(context.Background(), key)
	}
	return "error the library offers no " + word, nil
}

func main() {
	name := strings.Join(os.Args[1:], " ")
	l, there := libraries[name]
	if !there {
		fmt.Fprintf(os.Stderr, "go-locks: expected the name of a library, got '%s'\n", name)
		os.Exit(2)
	}
	say("lockbench-adapter 1 name=%s version=%s %s clock=no", name, version(l.module), l.says)
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
			name, text, _ := strings.Cut(word, "=")
			of[name], _ = url.PathUnescape(text)
			if name == "server" {
				servers = append(servers, of[name])
			}
		}
		said, err := answer(l.library, words[1], of, servers)
		if err != nil {
			said = map[bool]string{true: "error ", false: "unknown "}[words[1] == "open"] + err.Error()
		}
		say("%s %s", words[0], said)
		if words[1] == "quit" {
			break
		}
	}
	os.Exit(0)
}
