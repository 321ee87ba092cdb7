// SPDX-License-Identifier: MIT
//
// ShedLock 7.10.1 on PostgreSQL (JdbcTemplateLockProvider) or Redis (RedisLockProvider on Spring Data). Compiled by ./bench peers; its argument says which: jdbc, jdbc-client, redis.
//
// Used as https://github.com/lukas-krecan/ShedLock#readme says: "usingDbTime()" (jdbc) or without it, by the clock of each client (jdbc-client); new RedisLockProvider.Builder(factory).build();
// lock(new LockConfiguration(now, name, lockAtMostFor, lockAtLeastFor)), extend(), unlock(). lockAtMostFor is the ttl and lockAtLeastFor is 0.
// It promises: "ShedLock makes sure that your scheduled tasks are executed at most once at the same time"; "execution on other nodes does not wait, it is simply skipped", so this adapter asks
// again every 100 ms, as a task whose next run is soon. Of time: "If the task takes longer than lockAtMostFor the resulting behavior may be unpredictable"; clocks "are synchronized".
// What breaks it: a task that takes longer, a failover or restart that forgets the lock, for jdbc-client a clock that is ahead. On Redis unlock() deletes, and extend() overwrites, whatever
// stands in the key, unless safeUpdate(true) is set (InternalRedisLockProvider.java:114 and 102). Of a row both compare locked_by: the host's name, or what withLockedByValue() sets.
// Jars: maven
// Trains with: redis
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.jdbc.core.JdbcTemplate;

public final class ShedlockPeer extends Adapter {
  private static final String TABLE = "CREATE TABLE IF NOT EXISTS shedlock (name VARCHAR(64) PRIMARY KEY, lock_until TIMESTAMP NOT NULL, locked_at TIMESTAMP NOT NULL, locked_by VARCHAR(255) NOT NULL)";
  private static String kind = "redis";
  private final Map<String, SimpleLock> locks = new HashMap<>();
  private LockProvider provider;
  private JdbcTemplate jdbc;

  @Override
  String open(Map<String, String> of, List<URI> servers) throws Exception {
    provider = kind.equals("redis") ? new RedisLockProvider.Builder(Spring.redis(of, servers)).build() : onPostgres(of, servers);
    return opened(of);
  }

  private LockProvider onPostgres(Map<String, String> of, List<URI> servers) throws Exception {
    jdbc = new JdbcTemplate(Postgres.source(of, servers, TABLE));
    var builder = JdbcTemplateLockProvider.Configuration.builder().withJdbcTemplate(jdbc).withLockedByValue(of.get("client"));
    return new JdbcTemplateLockProvider((kind.equals("jdbc") ? builder.usingDbTime() : builder).build());
  }

  @Override
  String acquire(String key, long wait) throws InterruptedException {
    Duration ttl = Duration.ofMillis(Long.parseLong(asked.get("ttl_ms")));
    for (long end = System.nanoTime() + 1_000_000 * (wait - 100); ; Thread.sleep(100)) {
      locks.put(key, provider.lock(new LockConfiguration(Instant.now(), key, ttl, Duration.ZERO)).orElse(null));
      if (locks.get(key) != null) return "granted";
      if (System.nanoTime() > end) return "busy";
    }
  }

  @Override
  String extend(String key, long ttl) {
    SimpleLock lock = locks.get(key);
    locks.put(key, lock == null ? null : lock.extend(Duration.ofMillis(ttl), Duration.ZERO).orElse(null));
    return locks.get(key) == null ? "lost" : "ok";
  }

  @Override
  String record(String key) {
    String now = kind.equals("jdbc") ? "timezone('utc', CURRENT_TIMESTAMP)" : "'" + java.sql.Timestamp.from(Instant.now()) + "'";
    return jdbc.queryForList("SELECT 1 FROM shedlock WHERE name = ? AND lock_until > " + now, key).isEmpty() ? "absent" : "present";
  }

  @Override
  String release(String key) {
    if (locks.get(key) == null) return "lost";
    locks.remove(key).unlock();
    return "ok";
  }

  public static void main(String[] args) throws Exception {
    kind = args.length > 0 ? args[0] : kind;
    new ShedlockPeer().serve("name=shedlock-" + kind + " version=" + version(LockProvider.class, "net.javacrumbs.shedlock", "shedlock-core") + " topologies="
        + (kind.equals("redis") ? "redis,sentinel ends=lease can=extend record=job-lock:default:{key}" : "pg,pg-sync,pg-async ends=lease can=extend,record record="));
  }
}
