// SPDX-License-Identifier: MIT
//
// What the adapters in Java share: the line protocol of README.md, and nothing of any lock.
//
// A method answers with a text: "granted", "busy", "ok", ... One that throws does not know what became of the request; `open` that throws has failed. All run in one thread.
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

abstract class Adapter {
  /** The words of the request that is being answered. */
  protected Map<String, String> asked;

  /** Its classes are written down (make-java). */
  private static final boolean TRAINS = System.getenv("LOCKBENCH_TRAINS") != null;
  private static final PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true);

  abstract String open(Map<String, String> of, List<URI> servers) throws Exception;

  abstract String acquire(String key, long wait) throws Exception;

  abstract String release(String key) throws Exception;

  /** What `open` answers of a library that connects at its first lock: takes one of its own, so that connection and classes are there before another client waits for them. */
  String opened(Map<String, String> of) throws Exception {
    String own = of.get("prefix") + "-" + of.get("client");
    return acquire(own, 0).equals("granted") ? release(own) : "error it is refused a lock of its own";
  }

  String holds(String key) throws Exception {
    return "error the library offers no holds";
  }

  String extend(String key, long ttl) throws Exception {
    return "error the library offers no extend";
  }

  String record(String key) throws Exception {
    return "error the adapter offers no record";
  }

  /** One line, as one write, whichever thread says it. */
  static synchronized void say(String text) {
    out.print(text.replaceAll("[\\p{Cntrl}]", " ") + "\n");
    out.flush();
  }

  static String decode(String text) {
    return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
  }

  /** host:port of every server, with commas. */
  static String hosts(List<URI> servers) {
    StringBuilder all = new StringBuilder();
    for (URI server : servers) all.append(all.length() > 0 ? "," : "").append(server.getHost()).append(':').append(server.getPort());
    return all.toString();
  }

  /** User and password; a text that is not there is null. */
  static String[] login(List<URI> servers) {
    String user = servers.get(0).getRawUserInfo();
    String[] parts = user == null ? new String[0] : user.split(":", 2);
    return new String[] {parts.length > 0 && !parts[0].isEmpty() ? decode(parts[0]) : null, parts.length == 2 ? decode(parts[1]) : null};
  }

  /** Of a library, as its jar has it. */
  static String version(Class<?> of, String group, String artifact) throws Exception {
    if (of.getResource("/META-INF/maven/" + group + "/" + artifact + "/pom.properties") == null) return of.getPackage().getImplementationVersion();
    Properties pom = new Properties();
    pom.load(of.getResourceAsStream("/META-INF/maven/" + group + "/" + artifact + "/pom.properties"));
    return pom.getProperty("version");
  }

  private String answer(String word, Map<String, String> of, List<URI> servers) {
    asked = of;
    try {
      switch (word) {
        case "open": return open(of, servers);
        case "acquire": return acquire(of.get("key"), Long.parseLong(of.get("wait_ms")));
        case "holds": return holds(of.get("key"));
        case "extend": return extend(of.get("key"), Long.parseLong(of.get("ttl_ms")));
        case "record": return record(of.get("key"));
        case "release": return release(of.get("key"));
        case "ping": case "quit": return "ok";
        default: return "error the library offers no " + word;
      }
    } catch (Exception e) {
      String text = e.toString(); // Redisson's has the script that it sent, and a line has a limit of words
      return (word.equals("open") ? "error " : "unknown ") + text.substring(0, Math.min(text.length(), 160));
    }
  }

  void serve(String words) throws Exception {
    System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "warn"); // goes to stderr
    say("lockbench-adapter 1 " + words);
    LinkedBlockingQueue<String> requests = new LinkedBlockingQueue<>();
    Thread reader = new Thread(() -> {
      try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
        for (String line = in.readLine(); line != null; line = in.readLine()) requests.add(line);
        if (TRAINS) return; // it ends with `quit`, however slow the machine is
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
    for (String line = requests.take(); !line.isEmpty(); line = requests.take()) {
      String[] request = line.split(" ");
      Map<String, String> of = new HashMap<>();
      List<URI> servers = new ArrayList<>();
      for (int i = 2; i < request.length; i++) {
        String[] pair = request[i].split("=", 2);
        if (pair.length == 2) of.put(pair[0], decode(pair[1]));
        if (pair[0].equals("server")) servers.add(new URI(decode(pair[1])));
      }
      say(request[0] + " " + answer(request[1], of, servers));
      if (request[1].equals("quit")) break;
    }
    if (TRAINS) System.exit(0); // leaves the class-data archive, which halt() does not
    Runtime.getRuntime().halt(0);
  }
}
