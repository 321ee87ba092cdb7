// SPDX-License-Identifier: MIT
//
// Redisson 4.7.0: RPermitExpirableSemaphore, whose permits have a lease. Compiled by ./bench peers.
//
// Used as https://redisson.pro/docs/data-and-services/locks-and-synchronizers/#permitexpirablesemaphore says: trySetPermits(n), tryAcquire(wait, lease, unit), which gives the id of a permit, and
// release(id). The client is that of RedissonPeer.java.
// The page promises "support of lease time for each acquired permit", each "identified by its own id".
// What breaks it: a clock that is ahead, as the client's says which permits are over (RedissonPermitExpirableSemaphore.java:374); a lease that ends under its holder; a server that restarts empty; a failover that loses the permit.
// What it keeps to itself: a lost permit is told at the release only (tryRelease gives false).
// Jars: maven
// Trains with: redis
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RPermitExpirableSemaphore;

public final class RedissonSemaphorePeer extends RedissonPeer {
  private final Map<String, String> ids = new HashMap<>();

  @Override
  String acquire(String key, long wait) throws Exception {
    RPermitExpirableSemaphore semaphore = first().getPermitExpirableSemaphore(key);
    semaphore.trySetPermits(Integer.parseInt(asked.getOrDefault("permits", "1")));
    String id = semaphore.tryAcquire(wait, Long.parseLong(asked.get("ttl_ms")), TimeUnit.MILLISECONDS);
    ids.put(key, id);
    return id == null ? "busy" : "granted token=" + id;
  }

  @Override
  String extend(String key, long ttl) {
    return ids.get(key) != null && first().getPermitExpirableSemaphore(key).updateLeaseTime(ids.get(key), ttl, TimeUnit.MILLISECONDS) ? "ok" : "lost";
  }

  @Override
  String release(String key) {
    String id = ids.remove(key);
    return id != null && first().getPermitExpirableSemaphore(key).tryRelease(id) ? "ok" : "lost";
  }

  public static void main(String[] args) throws Exception {
    new RedissonSemaphorePeer().serve("name=redisson-semaphore version=" + version(Redisson.class, "org.redisson", "redisson")
        + " topologies=redis,sentinel,sentinel-priority ends=lease can=extend,permits record={{key}}:timeout");
  }
}
