// SPDX-License-Identifier: MIT
//
// Quartz 2.5.2 on the JDBC driver of PostgreSQL 42.7.14, both of Maven Central: StdRowLockSemaphore, used as QuartzPeer.java uses Debian's. Compiled by ./bench peers.
//
// It promises what 2.3.2 does (https://www.quartz-scheduler.org/documentation/quartz-2.3.0/configuration/ConfigJDBCJobStoreClustering.html): a row lock by which the nodes of a cluster take turns.
// What breaks it: a lost connection or a failover, which end the transaction and tell nobody until the commit.
// Jars: maven
// Trains with: postgres://127.0.0.1:1
public final class Quartz25Peer extends QuartzPeer {
  public static void main(String[] args) throws Exception {
    QuartzPeer.main(new String[] {"quartz-2-5"});
  }
}
