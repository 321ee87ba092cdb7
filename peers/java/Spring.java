// SPDX-License-Identifier: MIT
//
// What the adapters on Spring share: the connections that its manuals show, and nothing of any lock.
import java.net.URI;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import javax.sql.DataSource;
import org.postgresql.ds.PGSimpleDataSource;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

final class Spring {
  private Spring() {}

  /** User and password, decoded; a text that is not there is null. */
  private static String[] login(List<URI> servers) {
    String user = servers.get(0).getRawUserInfo();
    String[] parts = user == null ? new String[0] : user.split(":", 2);
    return new String[] {parts.length > 0 && !parts[0].isEmpty() ? Adapter.decode(parts[0]) : null, parts.length == 2 ? Adapter.decode(parts[1]) : null};
  }

  /** Lettuce, with Spring's own times. */
  static LettuceConnectionFactory redis(Map<String, String> of, List<URI> servers) {
    List<URI> sentinels = servers.stream().filter(s -> s.getScheme().equals("sentinel")).toList();
    String[] login = login(sentinels.isEmpty() ? servers : sentinels);
    LettuceConnectionFactory factory;
    if (sentinels.isEmpty()) {
      RedisStandaloneConfiguration one = new RedisStandaloneConfiguration(servers.get(0).getHost(), servers.get(0).getPort());
      one.setUsername(login[0]);
      if (login[1] != null) one.setPassword(login[1]);
      boolean tls = servers.get(0).getScheme().equals("rediss");
      factory = tls ? new LettuceConnectionFactory(one, LettuceClientConfiguration.builder().useSsl().disablePeerVerification().build()) : new LettuceConnectionFactory(one);
    } else {
      RedisSentinelConfiguration all = new RedisSentinelConfiguration().master(of.get("master"));
      for (URI s : sentinels) all.sentinel(s.getHost(), s.getPort());
      if (login[1] != null) {
        all.setPassword(login[1]);
        all.setSentinelPassword(login[1]);
      }
      factory = new LettuceConnectionFactory(all);
    }
    factory.afterPropertiesSet();
    factory.start();
    return factory;
  }

  /** A connection for each transaction: no pool, whose tests and times would be its own. */
  static DataSource postgres(Map<String, String> of, List<URI> servers, String table) throws SQLException {
    String[] login = login(servers);
    PGSimpleDataSource source = new PGSimpleDataSource();
    source.setUrl("jdbc:postgresql://" + Adapter.hosts(servers) + "/postgres?targetServerType=primary");
    source.setUser(login[0] == null ? "lockbench" : login[0]);
    source.setPassword(login[1]);
    source.setApplicationName(of.get("client"));
    if (servers.get(0).getScheme().equals("postgress")) source.setSslMode("require");
    try (Connection c = source.getConnection()) {
      c.createStatement().execute(table);
    } catch (SQLException e) {
      if (e.getSQLState() == null || e.getSQLState().startsWith("08")) throw e; // else another client made it at the same moment
    }
    return source;
  }
}
