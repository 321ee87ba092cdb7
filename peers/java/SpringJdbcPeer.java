// SPDX-License-Identifier: MIT
//
// Spring Integration 7.1.2: JdbcLockRegistry on PostgreSQL, otherwise used as SpringRedisPeer.java uses its sibling. Compiled by ./bench peers.
//
// Used as https://docs.spring.io/spring-integration/reference/jdbc/lock-registry.html says: DefaultLockRepository on the table INT_LOCK of its schema-postgresql.sql, and a transaction manager.
// The page promises: "components can be sure that only one instance is holding the lock at a time".
// What breaks it: work that takes longer than the ttl, a failover that forgets the lock, and a clock: EXPIRED_AFTER is a time of the client that takes it
// (DefaultLockRepository.acquire: LocalDateTime.now(ZoneOffset.UTC)).
// What it keeps to itself: a lost hold is told at unlock() only. A thread that holds is granted it once more, and counts. The key in the table is a UUID that is made of the name.
// Jars: maven
// Trains with: postgres://127.0.0.1:1
import java.net.URI;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import javax.sql.DataSource;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.integration.util.UUIDConverter;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;

public final class SpringJdbcPeer extends SpringRedisPeer {
  private static final String TABLE = "CREATE TABLE IF NOT EXISTS INT_LOCK (LOCK_KEY CHAR(36) NOT NULL, REGION VARCHAR(100) NOT NULL, CLIENT_ID CHAR(36),"
      + " CREATED_DATE TIMESTAMP NOT NULL, EXPIRED_AFTER TIMESTAMP NOT NULL, constraint INT_LOCK_PK primary key (LOCK_KEY, REGION))";
  private JdbcTemplate table;

  @Override
  String open(Map<String, String> of, List<URI> servers) throws Exception {
    DataSource source = Postgres.source(of, servers, TABLE);
    DefaultLockRepository repository = new DefaultLockRepository(source);
    repository.setTransactionManager(new JdbcTransactionManager(source));
    repository.afterPropertiesSet();
    repository.afterSingletonsInstantiated();
    repository.start();
    table = new JdbcTemplate(source);
    registry = new JdbcLockRegistry(repository, Duration.ofMillis(Long.parseLong(of.get("ttl_ms"))));
    return opened(of);
  }

  @Override
  String record(String key) {
    String row = "SELECT 1 FROM INT_LOCK WHERE LOCK_KEY = ? AND EXPIRED_AFTER > ?";
    return table.queryForList(row, UUIDConverter.getUUID(key).toString(), LocalDateTime.now(ZoneOffset.UTC)).isEmpty() ? "absent" : "present";
  }

  public static void main(String[] args) throws Exception {
    new SpringJdbcPeer().serve("name=spring-jdbc version=" + version(JdbcLockRegistry.class, "org.springframework.integration", "spring-integration-jdbc")
        + " topologies=pg,pg-sync,pg-async ends=lease can=extend,reentrant,record record=");
  }
}
