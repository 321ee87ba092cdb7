// SPDX-License-Identifier: MIT
//
// What the adapters on Spring share: the connection to Redis that its manuals show, and nothing of any lock.
import java.net.URI;
import java.util.List;
import java.util.Map;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

final class Spring {
  private Spring() {}

  /** Lettuce, with Spring's own times. */
  static LettuceConnectionFactory redis(Map<String, String> of, List<URI> servers) {
    List<URI> sentinels = servers.stream().filter(s -> s.getScheme().equals("sentinel")).toList();
    String[] login = Adapter.login(sentinels.isEmpty() ? servers : sentinels);
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
}
