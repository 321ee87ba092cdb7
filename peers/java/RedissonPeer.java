// SPDX-License-Identifier: MIT
//
// Redisson 4.7.0: RLock, its kin, and RedissonRedLock. Compiled by ./bench peers; its argument says which: watchdog (RLock), lease, fair, fenced, readwrite, redlock, multi (a lock of two keys).
//
// Used as https://redisson.pro/docs/data-and-services/locks-and-synchronizers/ says: getLock(name), tryLock(wait, unit) or, with a lease, tryLock(wait, lease, unit), unlock(). The lease
// and `lockWatchdogTimeout` (30 s by default) are the ttl; all else is as Redisson has it, but that with Sentinel it reads
// at the master, too (ReadMode.MASTER; it subscribes there by default), so that a trial can see which server a client talks to. A lock's own scripts go to the master in any case.
// The page promises: without a lease the watchdog prolongs the hold for as long as the Redisson instance lives, so a crash cannot hang it for ever; with one it ends after the lease; who
// unlocks is the thread that owns it; a fenced lock's token grows with each grant. Config promises of replicas (checkLockSyncedSlaves): a grant that none has confirmed is none.
// What breaks it: a lease that ends under its holder; a server that restarts empty; a failover after a grant that only the replica confirmed which is not promoted
// (CommandAsyncService.java:1221: one confirmation of those that it sees is enough, and it asks for none on a single server); of RedLock, a voter that restarts empty.
// What it keeps to itself: a lost hold is told at unlock() only (IllegalMonitorStateException, RedissonBaseLock.java:173), and of RedLock not even there (RedissonMultiLock.java:282 drops it).
// RFencedLock takes an unconfirmed grant not back by tryLockAndGetToken(): it throws, and the key stays. There is no listener for a watchdog that found its key gone.
// Jars: maven
// Trains with: redis
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.ReadMode;
import org.redisson.config.SubscriptionMode;

public class RedissonPeer extends Adapter {
  private static String kind;
  private final Map<String, RLock> locks = new HashMap<>();
  private final List<RedissonClient> clients = new ArrayList<>();
  private long ttl;

  private RedissonClient client(List<URI> servers, String master) {
    Config config = new Config().setLockWatchdogTimeout(ttl);
    config.setUsername(login(servers)[0]).setPassword(login(servers)[1]);
    if (!servers.get(0).getScheme().equals("sentinel")) config.useSingleServer().setAddress(servers.get(0).getScheme() + "://" + hosts(servers));
    else config.useSentinelServers().setReadMode(ReadMode.MASTER).setSubscriptionMode(SubscriptionMode.MASTER).setMasterName(master)
        .addSentinelAddress(servers.stream().map(s -> "redis://" + hosts(List.of(s))).toArray(String[]::new));
    return Redisson.create(config);
  }

  @Override
  String open(Map<String, String> of, List<URI> servers) {
    ttl = Long.parseLong(of.get("ttl_ms"));
    List<URI> sentinels = servers.stream().filter(s -> s.getScheme().equals("sentinel")).toList();
    if (!sentinels.isEmpty()) clients.add(client(sentinels, of.get("master")));
    else for (URI server : servers) clients.add(client(List.of(server), null));
    return "ok";
  }

  protected RedissonClient first() {
    return clients.get(0);
  }

  @SuppressWarnings("deprecation") // RedissonRedLock: "use RLock or RFencedLock instead"
  private RLock lock(String key, boolean shared) {
    RReadWriteLock both = clients.get(0).getReadWriteLock(key);
    switch (kind) {
      case "fair": return clients.get(0).getFairLock(key);
      case "fenced": return clients.get(0).getFencedLock(key);
      case "readwrite": return shared ? both.readLock() : both.writeLock();
      case "redlock": return new RedissonRedLock(clients.stream().map(c -> c.getLock(key)).toArray(RLock[]::new));
      case "multi": return clients.get(0).getMultiLock(clients.get(0).getLock(key), clients.get(0).getLock(key + "-2"));
      default: return clients.get(0).getLock(key);
    }
  }

  @Override
  String acquire(String key, long wait) throws Exception {
    RLock lock = lock(key, "yes".equals(asked.get("shared")));
    long lease = kind.equals("watchdog") || kind.equals("readwrite") ? -1 : ttl; // -1: the watchdog
    locks.put(key, lock);
    if (!(lock instanceof RFencedLock)) return lock.tryLock(wait, lease, TimeUnit.MILLISECONDS) ? "granted" : "busy";
    Long fence = ((RFencedLock) lock).tryLockAndGetToken(wait, lease, TimeUnit.MILLISECONDS);
    return fence == null ? "busy" : "granted fence=" + fence;
  }

  @Override
  String holds(String key) {
    return locks.get(key).isHeldByCurrentThread() ? "ok" : "lost";
  }

  @Override
  String release(String key) {
    try {
      locks.get(key).unlock();
      return "ok";
    } catch (IllegalMonitorStateException e) {
      return "lost";
    }
  }

  public static void main(String[] args) throws Exception {
    kind = args.length > 0 ? args[0] : "watchdog";
    boolean votes = kind.equals("redlock"), watched = kind.equals("watchdog") || kind.equals("readwrite");
    String can = votes || kind.equals("multi") ? "" : "holds,reentrant" + (kind.equals("fenced") ? ",fence" : "") + (kind.equals("readwrite") ? ",shared" : "");
    new RedissonPeer().serve("name=redisson" + (kind.equals("watchdog") ? "" : "-" + kind) + " version=" + version(Redisson.class, "org.redisson", "redisson") + " topologies="
        + (votes ? "redis-x3,redis-x5" : "redis,sentinel,sentinel-priority") + " ends=" + (watched ? "session" : "lease") + " can=" + can + " record={key}");
  }
}
