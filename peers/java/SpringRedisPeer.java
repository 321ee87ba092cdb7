// SPDX-License-Identifier: MIT
//
// Spring Integration 7.1.2: RedisLockRegistry on Lettuce 7.7.0. Compiled by ./bench peers.
//
// Used as https://docs.spring.io/spring-integration/reference/redis.html#redis-lock-registry says: obtain(key), tryLock(time, unit), renewLock(key, ttl), unlock(). The ttl of the registry is
// the ttl; all else, as a pause of 100 ms between tries, is as it has it.
// The page promises: the key "expires" after expireAfter, and unlock() of an expired lock throws ConcurrentModificationException, so "the protected resources may have been compromised".
// What breaks it: work that takes longer than the ttl, a failover or restart that forgets the lock.
// What it keeps to itself: a lost hold is told at unlock() only. A thread that holds is granted it once more, and counts. Lettuce waits 60 s for an answer, and its own time of a try is no bound.
// Jars: maven
// Trains with: redis
import java.net.URI;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.support.locks.RenewableLockRegistry;

public class SpringRedisPeer extends Adapter {
  private final Map<String, Lock> held = new HashMap<>();
  protected RenewableLockRegistry<?> registry;

  @Override
  String open(Map<String, String> of, List<URI> servers) throws Exception {
    registry = new RedisLockRegistry(Spring.redis(of, servers), "spring", Duration.ofMillis(Long.parseLong(of.get("ttl_ms"))));
    return opened(of);
  }

  @Override
  String acquire(String key, long wait) throws Exception {
    Lock lock = registry.obtain(key);
    if (!(wait > 0 ? lock.tryLock(wait, TimeUnit.MILLISECONDS) : lock.tryLock())) return "busy";
    held.put(key, lock);
    return "granted";
  }

  @Override
  String extend(String key, long ttl) {
    try {
      registry.renewLock(key, Duration.ofMillis(ttl));
      return "ok";
    } catch (IllegalStateException e) {
      return "lost";
    }
  }

  @Override
  String release(String key) {
    Lock lock = held.remove(key);
    if (lock == null) return "lost";
    try {
      lock.unlock();
      return "ok";
    } catch (ConcurrentModificationException e) {
      return "lost";
    }
  }

  public static void main(String[] args) throws Exception {
    new SpringRedisPeer().serve("name=spring-redis version=" + version(RenewableLockRegistry.class, "org.springframework.integration", "spring-integration-core")
        + " topologies=redis,sentinel ends=lease can=extend,reentrant record=spring:{key}");
  }
}
