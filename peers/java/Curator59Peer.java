// SPDX-License-Identifier: MIT
//
// Apache Curator 5.9.0 of Maven Central, compiled by ./bench peers. Its argument says which recipe: mutex (as CuratorPeer.java uses it), readwrite or semaphore.
//
// Used as https://curator.apache.org/docs/recipes-shared-reentrant-read-write-lock and /docs/recipes-shared-semaphore say: InterProcessReadWriteLock(client, path).readLock() or writeLock(),
// acquire(time, unit), release(); InterProcessSemaphoreV2(client, path, maxLeases), acquire(time, unit), which gives a Lease, and returnLease(lease).
// The manual promises: "This mutex is 'fair'. Each user will get the mutex in the order requested"; "All processes in all JVMs that use the same lock path will achieve an inter-process
// limited set of leases", and "there is no enforcement" that all name the same number.
// What breaks it: a holder that goes on after LOST, or that is paused for longer than the session.
// What it keeps to itself: returnLease() says nothing, also if the session and its node are gone.
// Jars: maven
// Trains with: zookeeper://127.0.0.1:1
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

public final class Curator59Peer extends CuratorPeer {
  private static String kind;
  private final Map<String, InterProcessSemaphoreV2> semaphores = new HashMap<>();
  private final Map<String, Lease> leases = new HashMap<>();

  @Override
  InterProcessMutex lock(String path) {
    if (!kind.equals("readwrite")) return super.lock(path);
    InterProcessReadWriteLock both = new InterProcessReadWriteLock(client, path);
    return "yes".equals(asked.get("shared")) ? both.readLock() : both.writeLock();
  }

  @Override
  String acquire(String key, long wait) throws Exception {
    if (!kind.equals("semaphore")) return super.acquire(key, wait);
    int permits = Integer.parseInt(asked.getOrDefault("permits", "1"));
    InterProcessSemaphoreV2 semaphore = semaphores.computeIfAbsent(key, k -> new InterProcessSemaphoreV2(client, "/lockbench/" + k, permits));
    Lease lease = semaphore.acquire(wait, TimeUnit.MILLISECONDS);
    leases.put(key, lease);
    return lease == null ? "busy" : "granted";
  }

  @Override
  String release(String key) throws Exception {
    if (!kind.equals("semaphore")) return super.release(key);
    Lease lease = leases.remove(key);
    if (lease == null) return "lost";
    semaphores.get(key).returnLease(lease);
    return "ok";
  }

  public static void main(String[] args) throws Exception {
    kind = args.length > 0 ? args[0] : "mutex";
    boolean counts = kind.equals("semaphore");
    new Curator59Peer().serve("name=curator-5-9" + (kind.equals("mutex") ? "" : "-" + kind) + " version=" + version(CuratorFramework.class, "org.apache.curator", "curator-framework")
        + " topologies=zk-x3,zk ends=session can=signal" + (counts ? ",permits" : kind.equals("mutex") ? "" : ",shared") + " record=/lockbench/{key}" + (counts ? "/leases" : ""));
  }
}
