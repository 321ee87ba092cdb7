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
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;

public final class CuratorPeer {
  private static final PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true);
  private static final Map<String, InterProcessMutex> locks = new HashMap<>();
  private static CuratorFramework client;

  private static synchronized void say(String text) {
    out.print(text.replaceAll("[\\p{Cntrl}]", " ") + "\n");
    out.flush();
  }

  private static String decode(String text) {
    return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
  }

  private static void changed(CuratorFramework c, ConnectionState state) {
    if (state == ConnectionState.SUSPENDED) say("! doubt SUSPENDED");
    if (state == ConnectionState.LOST) say("! lost LOST");
  }

  private static String open(Map<String, String> of, List<String> servers) throws Exception {
    StringBuilder hosts = new StringBuilder();
    String login = null;
    for (String server : servers) {
      URI uri = new URI(server);
      hosts.append(hosts.length() > 0 ? "," : "").append(uri.getHost()).append(':').append(uri.getPort());
      login = uri.getUserInfo();
    }
    int ttl = Integer.parseInt(of.get("ttl_ms"));
    CuratorFrameworkFactory.Builder builder = CuratorFrameworkFactory.builder().connectString(hosts.toString()).sessionTimeoutMs(ttl)
        .connectionTimeoutMs(ttl).retryPolicy(new ExponentialBackoffRetry(1000, 3));
    if (login != null) builder.authorization("digest", login.getBytes(StandardCharsets.UTF_8));
    client = builder.build();
    client.getConnectionStateListenable().addListener(CuratorPeer::changed);
    client.start();
    return client.blockUntilConnected(ttl, TimeUnit.MILLISECONDS) ? "ok" : "error not connected within " + ttl + " ms";
  }

  private static String acquire(String key, long wait) throws Exception {
    InterProcessMutex lock = new InterProcessMutex(client, "/lockbench/" + key);
    locks.put(key, lock);
    return lock.acquire(wait, TimeUnit.MILLISECONDS) ? "granted" : "busy";
  }

  private static String release(String key) throws Exception {
    InterProcessMutex lock = locks.get(key);
    if (lock == null) return "lost";
    if (!lock.isOwnedByCurrentThread()) return "lost";
    lock.release();
    return "ok";
  }

  private static String answer(String word, Map<String, String> of, List<String> servers) {
    String key = of.get("key");
    try {
      switch (word) {
        case "open": return open(of, servers);
        case "acquire": return acquire(key, Long.parseLong(of.get("wait_ms")));
        case "release": return release(key);
        case "ping": case "quit": return "ok";
        default: return "error the library offers no " + word;
      }
    } catch (Exception e) {
      return (word.equals("open") ? "error " : "unknown ") + e;
    }
  }

  public static void main(String[] args) throws Exception {
    System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "warn"); // goes to stderr
    Properties pom = new Properties();
    pom.load(CuratorFramework.class.getResourceAsStream("/META-INF/maven/org.apache.curator/curator-framework/pom.properties"));
    say("lockbench-adapter 1 name=curator version=" + pom.getProperty("version") + " topologies=zk-x3,zk ends=session can=signal record=/lockbench/{key}");
    LinkedBlockingQueue<String> requests = new LinkedBlockingQueue<>();
    Thread reader = new Thread(() -> {
      try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
        for (String line = in.readLine(); line != null; line = in.readLine()) requests.add(line);
        for (int i = 0; i < 100 && !requests.isEmpty(); i++) Thread.sleep(10);
        requests.add("");
        Thread.sleep(900); // what was asked before the end is answered, if that takes no longer
      } catch (Exception e) {
        System.err.println(e);
      }
      Runtime.getRuntime().halt(0);
    });
    reader.setDaemon(true);
    reader.start();
    for (String line = requests.take(); !line.isEmpty(); line = requests.take()) { // all in one thread: the mutex belongs to it
      String[] words = line.split(" ");
      Map<String, String> of = new HashMap<>();
      List<String> servers = new ArrayList<>();
      for (int i = 2; i < words.length; i++) {
        String[] pair = words[i].split("=", 2);
        if (pair.length == 2) of.put(pair[0], decode(pair[1]));
        if (pair[0].equals("server")) servers.add(decode(pair[1]));
      }
      say(words[0] + " " + answer(words[1], of, servers));
      if (words[1].equals("quit")) break;
    }
    if (System.getenv("LOCKBENCH_TRAINS") != null) System.exit(0); // leaves the class-data archive, which halt() does not
    Runtime.getRuntime().halt(0);
  }
}
