// SPDX-License-Identifier: MIT
//
// rslock 0.10.0 (crates.io) on redis-rs: Redlock. Compiled by ./bench peers; the lines are those of README.md.
//
// Used as https://docs.rs/rslock says: LockManager::new(uris), lock(resource, ttl), which tries three times, at most 200 ms apart, extend(lock, ttl), unlock(lock). It promises "Distributed locking
// based on Redis ... the Redlock algorithm", a Lock with "time the lock is still valid", and of unlock: "best effort".
// What breaks it: a holder that works longer than the lease, and a master that restarts empty. It tells of no loss.
// What it keeps to itself: unlock() says nothing at all (lock.rs:550), neither of errors nor of a key that is another one's. An extension that finds no majority deletes the keys that are left
// (lock.rs:502). A grant that came too late is an error, TtlExceeded, and its keys stay (lock.rs:483). is_freed() takes a server that it cannot reach for one without the key (lock.rs:305).
use rslock::{Lock, LockError, LockManager};
use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all((text.replace(['\n', '\r'], " ") + "\n").as_bytes());
    let _ = out.flush();
}

fn decode(text: &str) -> String {
    let (bytes, mut out, mut i) = (text.as_bytes(), Vec::new(), 0);
    while i < bytes.len() {
        let code = text.get(i + 1..i + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (bytes[i], code) {
            (b'%', Some(byte)) => {
                out.push(byte);
                i += 3;
            }
            (byte, _) => {
                out.push(byte);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

async fn acquire(manager: &LockManager, key: &str, ttl: Duration, wait: Duration) -> Result<Option<Lock>, LockError> {
    let (end, mut one) = (Instant::now() + wait, manager.clone());
    one.set_retry(1, Duration::from_millis(200)); // so that the wait ends when it is over
    loop {
        match one.lock(key.as_bytes(), ttl).await {
            Err(LockError::Unavailable) if Instant::now() + Duration::from_millis(200) < end => std::thread::sleep(Duration::from_millis(100)),
            Err(LockError::Unavailable) => return Ok(None),
            other => return other.map(Some),
        }
    }
}

fn main() {
    say("lockbench-adapter 1 name=rslock version=0.10.0 topologies=redis-x3,redis-x5,redis ends=lease can=extend,validity record={key} clock=no");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let (send, requests) = std::sync::mpsc::channel::<String>();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let _ = send.send(line);
        }
        drop(send);
        std::thread::sleep(Duration::from_millis(900)); // what was asked before the end is answered, if that takes no longer
        std::process::exit(0);
    });
    let mut manager: Option<LockManager> = None;
    let mut locks: HashMap<String, Option<Lock>> = HashMap::new();
    for line in requests {
        let words: Vec<&str> = line.split(' ').collect();
        let pairs: Vec<(String, String)> = words[2..].iter().filter_map(|w| w.split_once('=')).map(|(name, text)| (name.to_string(), decode(text))).collect();
        let of = |name: &str| pairs.iter().find(|p| p.0 == name).map(|p| p.1.clone()).unwrap_or_default();
        let ms = |name: &str| Duration::from_millis(of(name).parse().unwrap_or(0));
        let key = of("key");
        let answer = match (words[1], &manager) {
            ("open", _) => {
                manager = Some(LockManager::new(pairs.iter().filter(|p| p.0 == "server").map(|p| p.1.clone()).collect::<Vec<_>>()));
                "ok".to_string()
            }
            ("ping" | "quit", _) => "ok".to_string(),
            ("acquire", Some(m)) => match runtime.block_on(acquire(m, &key, ms("ttl_ms"), ms("wait_ms"))) {
                Ok(lock) => {
                    let said = lock.as_ref().map_or("busy".to_string(), |l| format!("granted validity_ms={}", l.validity_time));
                    locks.insert(key, lock);
                    said
                }
                Err(error) => {
                    locks.insert(key, None);
                    format!("unknown {error}")
                }
            },
            ("extend", Some(m)) => match locks.get(&key).and_then(Option::as_ref).map(|l| runtime.block_on(m.extend(l, ms("ttl_ms")))) {
                None | Some(Err(LockError::Unavailable)) => "lost".to_string(),
                Some(Ok(lock)) => {
                    locks.insert(key, Some(lock));
                    "ok".to_string()
                }
                Some(Err(error)) => format!("unknown {error}"),
            },
            ("release", Some(m)) => match locks.remove(&key).flatten() {
                None => "lost".to_string(),
                Some(lock) => {
                    runtime.block_on(m.unlock(&lock));
                    "ok".to_string()
                }
            },
            (word, _) => format!("error the library offers no {word}"),
        };
        say(&format!("{} {answer}", words[0]));
        if words[1] == "quit" {
            break;
        }
    }
    std::process::exit(0);
}
