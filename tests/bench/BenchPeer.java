/* SPDX-License-Identifier: MIT
 *
 * Curator's InterProcessMutex on one hot lock, for bench-peer.py: a thread and a session for each client, which release what they are granted at once.
 * Usage: BenchPeer SERVERS CLIENTS WARM_UP_S SECONDS; prints "GRANTS_PER_S HANDOFF_P50_US" of the seconds behind the warm-up.
 */
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

public final class BenchPeer {
  private record Hold(int client, long granted, long release) {}

  private static List<Hold> work(InterProcessMutex lock, int client, long end) {
    List<Hold> holds = new ArrayList<>();
    try {
      while (System.nanoTime() < end) {
        lock.acquire();
        long granted = System.nanoTime(), release = System.nanoTime();
        lock.release();
        holds.add(new Hold(client, granted, release));
      }
    } catch (Exception e) {
      e.printStackTrace();
      Runtime.getRuntime().halt(1);
    }
    return holds;
  }

  public static void main(String[] args) throws Exception {
    int clients = Integer.parseInt(args[1]);
    List<CuratorFramework> sessions = new ArrayList<>();
    for (int i = 0; i < clients; i++) {
      CuratorFramework session = CuratorFrameworkFactory.newClient(args[0], 10000, 10000, new ExponentialBackoffRetry(100, 3));
      session.start();
      session.blockUntilConnected();
      sessions.add(session);
    }
    long begin = System.nanoTime() + (long) (Double.parseDouble(args[2]) * 1e9), end = begin + (long) (Double.parseDouble(args[3]) * 1e9);
    List<Hold> all = new ArrayList<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < clients; i++) {
      InterProcessMutex lock = new InterProcessMutex(sessions.get(i), "/bench-peer");
      int client = i;
      threads.add(new Thread(() -> {
        List<Hold> mine = work(lock, client, end);
        synchronized (all) {
          all.addAll(mine);
        }
      }));
    }
    for (Thread thread : threads) thread.start();
    for (Thread thread : threads) thread.join();
    all.sort(Comparator.comparingLong(Hold::granted));
    List<Long> handoffs = new ArrayList<>();
    long grants = 0;
    for (int i = 1; i < all.size(); i++) {
      Hold last = all.get(i - 1), next = all.get(i);
      if (next.granted < last.release) throw new IllegalStateException("two held the lock at once");
      if (next.granted < begin || next.granted >= end) continue;
      grants++;
      if (next.client != last.client) handoffs.add(next.granted - last.release);
    }
    handoffs.sort(null);
    System.out.printf("%.3f %.3f%n", grants * 1e9 / (end - begin), handoffs.isEmpty() ? 0 : handoffs.get(handoffs.size() / 2) / 1e3);
    Runtime.getRuntime().halt(0);
  }
}
