/* SPDX-License-Identifier: MIT
 *
 * Curator's InterProcessMutex as the other side of bench-peer: a thread and a CuratorFramework, and so a session, for each client.
 * What they did they write into the memory that peer.h describes. A line "FIRST COUNT" on stdin sends these clients to work until the
 * memory says stop; each then answers with a dot, as it does when its session is there.
 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

public final class BenchPeer {
  private static final VarHandle LONG = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
  private static final VarHandle INT = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());
  private static final int RECORD = 3 * Long.BYTES;

  private static ByteBuffer log;

  private final InterProcessMutex lock;
  private final int countAt, recordsAt;

  private BenchPeer(String server, int timeoutMs, String path, int countAt, int recordsAt) throws Exception {
    CuratorFramework client = CuratorFrameworkFactory.newClient(server, timeoutMs, timeoutMs, new ExponentialBackoffRetry(100, 3));
    client.start();
    client.blockUntilConnected();
    this.lock = new InterProcessMutex(client, path);
    this.countAt = countAt;
    this.recordsAt = recordsAt;
  }

  private void work() {
    try {
      while ((int) INT.getAcquire(log, 0) == 0) {
        long n = (long) LONG.getAcquire(log, countAt);
        int at = recordsAt + (int) n * RECORD;
        lock.acquire();
        LONG.set(log, at, System.nanoTime()); /* CLOCK_MONOTONIC */
        LONG.set(log, at + Long.BYTES, System.nanoTime());
        lock.release();
        LONG.set(log, at + 2 * Long.BYTES, System.nanoTime());
        LONG.setRelease(log, countAt, n + 1);
      }
      answer();
    } catch (Throwable e) {
      e.printStackTrace();
      Runtime.getRuntime().halt(1);
    }
  }

  private static synchronized void answer() {
    System.out.print('.');
    System.out.flush();
  }

  /* Its file has the version in its name, where a distribution has put a link without it. */
  private static Path jarOf(Class<?> part) throws Exception {
    return Path.of(part.getProtectionDomain().getCodeSource().getLocation().toURI()).toRealPath().getFileName();
  }

  private static void tellVersions() throws Exception {
    StringBuilder collectors = new StringBuilder();
    for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) collectors.append(", ").append(bean.getName());
    System.err.printf("Curator: %s, %s, Java %s (%s), heap of at most %d MiB%s, options %s%n", jarOf(InterProcessMutex.class),
        jarOf(org.apache.zookeeper.ZooKeeper.class), System.getProperty("java.version"), System.getProperty("java.vm.name"),
        Runtime.getRuntime().maxMemory() >> 20, collectors, ManagementFactory.getRuntimeMXBean().getInputArguments());
  }

  public static void main(String[] args) throws Exception {
    int clientsAt = Integer.parseInt(args[2]), clientSize = Integer.parseInt(args[3]), recordsAt = Integer.parseInt(args[4]);
    int clients = Integer.parseInt(args[5]), timeoutMs = Integer.parseInt(args[6]), servers = args.length - 8;
    log = new RandomAccessFile(args[0], "rw").getChannel().map(FileChannel.MapMode.READ_WRITE, 0, Long.parseLong(args[1]));
    tellVersions();
    BenchPeer[] peer = new BenchPeer[clients];
    for (int i = 0; i < clients; i++) {
      int at = clientsAt + i * clientSize;
      peer[i] = new BenchPeer(args[8 + i % servers], timeoutMs, args[7], at, at + recordsAt);
      answer();
    }
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = in.readLine()) != null;) {
      String[] word = line.split(" ");
      int first = Integer.parseInt(word[0]), count = Integer.parseInt(word[1]);
      for (int i = first; i < first + count; i++) new Thread(peer[i]::work, "client-" + (i + 1)).start();
    }
    Runtime.getRuntime().halt(0);
  }
}
