// SPDX-License-Identifier: MIT
//
// Quartz 2.3.2 (libquartz2-java 2.3.2-4) on the JDBC driver of PostgreSQL 42.5.5 (libpostgresql-jdbc-java): StdRowLockSemaphore, the lock by which the nodes of a Quartz cluster take
// turns. Compiled by ./bench peers.
//
// Used as JobStoreSupport.executeInNonManagedTXLock does (https://www.quartz-scheduler.org/documentation/quartz-2.3.0/configuration/ConfigJDBCJobStoreClustering.html): a connection
// without autocommit, obtainLock(connection, name), the work, commit(), releaseLock(name). Table and columns are those of its tables_postgres.sql, where a name has 40 characters at
// most. Semaphore.obtainLock promises: "Grants a lock on the identified resource to the calling thread (blocking until it is available)."
// What breaks it: a lost connection or a failover, which end the transaction and tell nobody until the commit.
// What it keeps to itself: two that take a new name at once insert the same row, and the one that fails tries on in a transaction that PostgreSQL has ended, so it fails three times
// (quartz issue 647). So the row is there before it is asked for. It has no bound for a wait: PostgreSQL's lock_timeout is set here, and maxRetry, which the class has a setter
// for, is 1, as another try in the same transaction cannot succeed. A try without waiting gets 100 ms. obtainLock() of a thread that owns the name is granted without asking, so every hold has a new semaphore.
// Jars: quartz2 postgresql slf4j-api slf4j-simple
// Trains with: postgres://127.0.0.1:1
import java.net.URI;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.sql.DataSource;
import org.quartz.impl.jdbcjobstore.LockException;
import org.quartz.impl.jdbcjobstore.StdRowLockSemaphore;

public class QuartzPeer extends Adapter {
  private final Map<String, StdRowLockSemaphore> locks = new HashMap<>();
  private DataSource source;
  private Connection connection;

  private void ask(String statement) throws SQLException {
    try (Statement s = connection.createStatement()) {
      s.execute(statement);
    }
  }

  private static StdRowLockSemaphore semaphore() {
    StdRowLockSemaphore lock = new StdRowLockSemaphore();
    lock.setSchedName("lockbench");
    lock.setMaxRetry(1);
    return lock;
  }

  /** A pool would do so, too. */
  private void connect() throws SQLException {
    if (connection != null && !connection.isClosed()) return;
    connection = source.getConnection();
    connection.setAutoCommit(false);
  }

  /** The transaction ends, and its locks with it; a connection that cannot do that is of no use. */
  private void end() {
    try {
      connection.rollback();
    } catch (SQLException e) {
      try {
        connection.close();
      } catch (SQLException none) {
        System.err.println(none);
      }
    }
  }

  @Override
  String open(Map<String, String> of, List<URI> servers) throws Exception {
    source = Postgres.source(of, servers, "CREATE TABLE IF NOT EXISTS qrtz_locks (SCHED_NAME VARCHAR(120) NOT NULL, LOCK_NAME VARCHAR(40) NOT NULL, PRIMARY KEY (SCHED_NAME, LOCK_NAME))");
    connect();
    semaphore().obtainLock(connection, of.get("client")); // so that its classes are there before somebody waits for them
    end();
    return "ok";
  }

  @Override
  String acquire(String key, long wait) throws Exception {
    try {
      connect();
    } catch (SQLException e) {
      return "error " + e;
    }
    StdRowLockSemaphore lock = semaphore();
    try {
      if (!locks.containsKey(key)) {
        ask("INSERT INTO qrtz_locks VALUES ('lockbench', '" + key.replace("'", "''") + "') ON CONFLICT DO NOTHING");
        connection.commit();
        locks.put(key, null);
      }
      ask("SET LOCAL lock_timeout = " + (wait > 0 ? wait : 100));
      lock.obtainLock(connection, key);
      locks.put(key, lock);
      return "granted";
    } catch (LockException | SQLException e) {
      Throwable cause = e instanceof LockException ? e.getCause() : e;
      String state = cause instanceof SQLException ? ((SQLException) cause).getSQLState() : null;
      end();
      if ("55P03".equals(state)) return "busy";
      return (state == null || state.startsWith("08") ? "unknown " : "error ") + e; // the server has answered, and the transaction is over
    }
  }

  @Override
  String release(String key) throws Exception {
    StdRowLockSemaphore lock = locks.replace(key, null);
    if (lock == null) return "lost";
    try {
      connection.commit();
      return "ok";
    } catch (SQLException e) {
      end();
      return "lost"; // without its connection there is no transaction
    } finally {
      lock.releaseLock(key);
    }
  }

  public static void main(String[] args) throws Exception {
    String name = args.length > 0 ? args[0] : "quartz";
    new QuartzPeer().serve("name=" + name + " version=" + version(StdRowLockSemaphore.class, "org.quartz-scheduler", "quartz")
        + " topologies=pg,pg-sync,pg-async ends=session can= record=transaction");
  }
}
