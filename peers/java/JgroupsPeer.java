// SPDX-License-Identifier: MIT
//
// JGroups 2.12.2 (libjgroups-java 2.12.2.Final-5): LockService over CENTRAL_LOCK. There is no server: the clients are the members of a cluster, and the oldest one, the coordinator,
// grants. They find each other by IP multicast. Compiled by ./bench peers.
//
// Used as http://belaban.blogspot.com/2011/01/new-distributed-locking-service-in.html shows: new LockService(channel), getLock(name), tryLock(time, unit), unlock(). The stack is the
// udp.xml of its jar, with CENTRAL_LOCK on top. The ttl is the time after which FD_ALL suspects a silent member; the times of VERIFY_SUSPECT and MERGE2 follow it.
// The comment of CENTRAL_LOCK promises: "The coordinator has a queue for incoming requests, and grants locks based on order of arrival", and that one backup (num_backups=1) knows the
// locks "to prevent all acquired locks from being forgotten when the coordinator crashes".
// What breaks it: a cut between members. Each side elects a coordinator, which takes the locks of those it does not see from them, and grants them again.
// What it keeps to itself: who held is never told. After the heal a MergeView comes, which says that there were several sides; here that is a doubt. "The application state maintained by
// the application using a channel is not merged by JGroups during a merge" (JBoss EAP 5, Administration Guide, 28.5). unlock() says nothing, even if another member has the lock.
// FD_ALL and tryLock() count by the wall clock (System.currentTimeMillis).
// Jars: jgroups
// Trains with: none
import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.jgroups.JChannel;
import org.jgroups.MergeView;
import org.jgroups.ReceiverAdapter;
import org.jgroups.View;
import org.jgroups.blocks.locking.LockService;

public final class JgroupsPeer extends Adapter {
  private final Map<String, Lock> held = new HashMap<>();
  private LockService locks;

  private static String stack(long ttl) {
    return "UDP(mcast_port=45588;ip_ttl=2;max_bundle_timeout=30;enable_diagnostics=false;timer_type=new;thread_pool.min_threads=2;thread_pool.max_threads=8;"
        + "oob_thread_pool.min_threads=1;oob_thread_pool.max_threads=8;oob_thread_pool.queue_enabled=false)"
        + ":PING(timeout=2000;num_initial_members=3):MERGE2(min_interval=" + ttl / 2 + ";max_interval=" + ttl + ")"
        + ":FD_SOCK:FD_ALL(timeout=" + ttl + ";interval=" + ttl / 4 + "):VERIFY_SUSPECT(timeout=" + ttl / 4 + "):BARRIER"
        + ":pbcast.NAKACK(use_mcast_xmit=true;gc_lag=0;retransmit_timeout=300,600,1200;discard_delivered_msgs=true):UNICAST(timeout=300,600,1200)"
        + ":pbcast.STABLE(stability_delay=1000;desired_avg_gossip=50000;max_bytes=4M):pbcast.GMS(print_local_addr=false;join_timeout=3000;view_bundling=true)"
        + ":UFC(max_credits=2M;min_threshold=0.4):MFC(max_credits=2M;min_threshold=0.4):FRAG2(frag_size=60K):CENTRAL_LOCK(num_backups=1)";
  }

  @Override
  String open(Map<String, String> of, List<URI> servers) throws Exception {
    JChannel channel = new JChannel(stack(Long.parseLong(of.get("ttl_ms"))));
    channel.setName(of.get("client"));
    channel.setReceiver(new ReceiverAdapter() {
      @Override
      public void viewAccepted(View view) {
        if (view instanceof MergeView) say("! doubt " + view);
      }
    });
    locks = new LockService(channel);
    channel.connect(String.valueOf(of.get("prefix")));
    Lock own = locks.getLock(of.get("client")); // so that its classes are there before somebody waits for them
    if (own.tryLock(1000, TimeUnit.MILLISECONDS)) own.unlock();
    return "ok";
  }

  @Override
  String acquire(String key, long wait) throws Exception {
    Lock lock = locks.getLock(key);
    if (!(wait > 0 ? lock.tryLock(wait, TimeUnit.MILLISECONDS) : lock.tryLock())) return "busy";
    held.put(key, lock);
    return "granted";
  }

  @Override
  String release(String key) throws Exception {
    Lock lock = held.remove(key);
    if (lock == null) return "lost";
    lock.unlock();
    return "ok";
  }

  public static void main(String[] args) throws Exception {
    System.setProperty("java.net.preferIPv4Stack", "true");
    new JgroupsPeer().serve("name=jgroups version=" + version(JChannel.class, "org.jgroups", "jgroups") + " topologies=client-cluster ends=session can=signal record=");
  }
}
