/* SPDX-License-Identifier: MIT
 *
 * zk_link.h - one handle of libzookeeper_mt and what its threads leave for the session's thread. Private to zk_util.
 */
#ifndef LB_ZK_LINK_H
#define LB_ZK_LINK_H

#include <pthread.h>
#include <sys/socket.h>

#include "zk_util.h"

/* NEW until the first connection, then UP and DOWN in turns, at last EXPIRED for good. */
enum zk_link_state { ZK_LINK_NEW, ZK_LINK_UP, ZK_LINK_DOWN, ZK_LINK_EXPIRED };

/* The library's threads know a link only, never the session: a link can be left behind to die by itself. */
struct zk_link {
  zhandle_t *handle;
  void (*on_up)(struct zk_link *link);
  int event;            /* eventfd: something below has changed */
  pthread_mutex_t lock; /* guards everything below */
  enum zk_link_state state;
  uint64_t losses; /* how often it went from UP to DOWN */
  int64_t id;
  int timeout_ms;
  struct sockaddr_storage server; /* while UP: where the connection leads to */
  uint64_t awaited;               /* name of the watch that counts; others are late */
  uint64_t awaited_losses;        /* when it was set */
  bool fired, changed;            /* changed: it told that the node was written to, and not that it has gone */
  struct zk_call *calls;          /* all not yet freed */
  char (*doomed)[ZK_PATH_MAX];    /* nodes to delete, or begins of their names */
  size_t doomed_count;
  bool closed;   /* zookeeper_close has returned */
  bool orphaned; /* the session has gone: the closing thread frees the link */
};

struct zk_link_wish {
  const char *servers; /* "127.0.0.1:2181,::1:2181" */
  const char *login;   /* "user:password" for the scheme digest, NULL = none */
  int timeout_ms;
  bool read_only;
  void (*on_up)(
      struct zk_link *link); /* whenever it is connected, in the library's thread, perhaps before `handle` is set */
};
/* Starts a handle. The wish need not outlive the call. 0 or -errno. */
int zk_link_open(struct lb_env *env, const struct zk_link_wish *wish, struct zk_link **ret);
/* Closes it within about `patience`, or leaves that to a detached thread. Calls still held become invalid. */
void zk_link_close(struct lb_env *env, struct zk_link *link, lb_ns patience);
enum zk_link_state zk_link_state(struct zk_link *link);
/* Sleeps until something may have changed. > 0, 0 = the deadline passed, -errno. */
int zk_link_sleep(struct lb_env *env, struct zk_link *link, lb_ns deadline);

/* Remembers a node to delete, by its path or, if that ends with '-', by the begin of it; and sends the deletion now if
 * there is a connection, and again after each reconnect. */
void zk_link_doom(struct zk_link *link, const char *prefix);
/* One of those; false: there is none. */
bool zk_link_doomed(struct zk_link *link, char ret_prefix[ZK_PATH_MAX]);
bool zk_link_is_doomed(struct zk_link *link, const char *prefix);
/* It has gone. Any thread. */
void zk_link_spare(struct zk_link *link, const char *prefix);
/* Sends all of these deletions, and waits for none. Any thread. */
void zk_link_delete_doomed(struct zk_link *link);

/* A request not yet sent. NULL: no memory. */
struct zk_call *zk_call_new(struct zk_link *link);
/* Takes the result of the library's asynchronous function: if it refused at once, no completion will come. */
struct zk_call *zk_call_sent(struct zk_call *call, int rc);

/* Completions and the node watcher, called by the library's completion thread. `data` is a zk_call. */
void zk_on_void(int rc, const void *data);
void zk_on_stat(int rc, const struct Stat *stat, const void *data);
void zk_on_create(int rc, const char *path, const struct Stat *stat, const void *data);
void zk_on_string(int rc, const char *value, const void *data);
void zk_on_strings(int rc, const struct String_vector *strings, const void *data);
void zk_on_children(int rc, const struct String_vector *strings, const struct Stat *stat, const void *data);
void zk_on_data(int rc, const char *value, int length, const struct Stat *stat, const void *data);
void zk_on_node(zhandle_t *handle, int type, int state, const char *path, void *name);

#endif
