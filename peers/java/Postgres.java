// SPDX-License-Identifier: MIT
//
// What the adapters on PostgreSQL share: its driver's connections, and the table of a library.
import java.net.URI;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import javax.sql.DataSource;
import org.postgresql.ds.PGSimpleDataSource;

final class Postgres {
  private Postgres() {}

  /** No pool, whose tests and times would be its own. */
  static DataSource source(Map<String, String> of, List<URI> servers, String table) throws SQLException {
    String[] login = Adapter.login(servers);
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
