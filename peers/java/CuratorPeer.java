// SPDX-License-Identifier: MIT
//
// Apache Curator 5.4.0 (libcurator-recipes-java 5.4.0-3): InterProcessMutex. Compiled by ./bench peers.
//
// Used as https://curator.apache.org/docs/recipes-shared-reentrant-lock and /docs/getting-started say: newClient(servers, ..., new ExponentialBackoffRetry(1000, 3)), start(), a
// ConnectionStateListener ("strongly recommended"), new InterProcessMutex(client, path), acquire(time, unit), release(). The session's timeout is the ttl, and so is that of connecting.
// The page promises: "Fully distributed locks that are globally synchronous, meaning at any snapshot in time no two clients think they hold the same lock." And of the listener: after
// SUSPENDED "you cannot be certain that you still hold the lock unless you subsequently receive a RECONNECTED state", after LOST "it is certain that you no longer hold the lock".
// What breaks it: a holder that goes on after LOST, or that is paused for longer than the session: until it runs again, nobody tells it.
// What it keeps to itself: a mutex does not listen to the connection. After LOST, isAcquiredInThisProcess() stays true, a second acquire() by the same thread on the same object is granted
// without asking (it counts), and release() says nothing, as a node that is gone is no error to it. So here every hold has a new mutex, as in the page's example. The time of acquire()
// bounds the wait for a predecessor only (LockInternals.internalLockLoop): who was cut off meanwhile and is first then, is granted it, however late.
// Jars: curator-recipes curator-framework curator-client zookeeper zookeeper-jute guava slf4j-api slf4j-simple netty-all snappy-java metrics-core
// Trains with: zookeeper://127.0.0.1:1
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;

public class CuratorPeer extends Adapter {
  private final Map<String, InterProcessMutex> locks = new HashMap<>();
  protected CuratorFramework client;

  private static void changed(CuratorFramework c, ConnectionState state) {
    if (state == ConnectionState.SUSPENDED) say("! doubt SUSPENDED");
    if (state == ConnectionState.LOST) say("! lost LOST");
  }

  @Override
  String open(Map<String, String> of, List<URI> servers) throws Exception {
    String login = servers.get(servers.size() - 1).getUserInfo();
    int ttl = Integer.parseInt(of.get("ttl_ms"));
    CuratorFrameworkFactory.Builder builder = CuratorFrameworkFactory.builder().connectString(hosts(servers)).sessionTimeoutMs(ttl)
        .connectionTimeoutMs(ttl).retryPolicy(new ExponentialBackoffRetry(1000, 3));
    if (login != null) builder.authorization("digest", login.getBytes(StandardCharsets.UTF_8));
    client = builder.build();
    client.getConnectionStateListenable().addListener(CuratorPeer::changed);
    client.start();
    return client.blockUntilConnected(ttl, TimeUnit.MILLISECONDS) ? "ok" : "error not connected within " + ttl + " ms";
  }

  InterProcessMutex lock(String path) {
    return new InterProcessMutex(client, path);
  }

  @Override
  String acquire(String key, long wait) throws Exception {
    InterProcessMutex lock = lock("/lockbench/" + key);
    locks.put(key, lock);
    return lock.acquire(wait, TimeUnit.MILLISECONDS) ? "granted" : "busy";
  }

  @Override
  String release(String key) throws Exception {
    InterProcessMutex lock = locks.get(key);
    if (lock == null || !lock.isOwnedByCurrentThread()) return "lost";
    lock.release();
    return "ok";
  }

  public static void main(String[] args) throws Exception {
    new CuratorPeer().serve("name=curator version=" + version(CuratorFramework.class, "org.apache.curator", "curator-framework")
        + " topologies=zk-x3,zk ends=session can=signal record=/lockbench/{key}");
  }
}
