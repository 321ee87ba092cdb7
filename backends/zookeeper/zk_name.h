/* SPDX-License-Identifier: MIT
 *
 * zk_name.h - names of attempts and of their nodes, and which node comes before which.
 *
 * An attempt has a GUID, which begins with the id of its session. So it is never taken for one of an earlier session,
 * whose node the servers may not have removed yet (CURATOR-604 is that mistake). A sequential node is called
 * <who>-lock-<number>. The servers number the children of a folder in one order for everybody, so the number alone
 * counts, whatever stands before it.
 */
#ifndef LB_ZK_NAME_H
#define LB_ZK_NAME_H

#include "zk.h"

#define ZK_LOCK_MARK "-lock-"      /* stands between who and the number */
#define ZK_READ_MARK "-read-lock-" /* of a node whose client wants to read */
enum { ZK_GUID_SIZE = 33 };

/* The folder of a key's queue, below the folder of the run: short enough for the longest name in it. 0, or
 * -ENAMETOOLONG with a text. */
int zk_name_queue(struct lb_env *env, const char *root, const char *key, char ret_dir[ZK_PATH_MAX]);
/* A new GUID, of the session that there is now. */
void zk_name_guid(struct lb_env *env, struct zk_session *zk, char ret_guid[ZK_GUID_SIZE]);
/* Whether what begins with a GUID is of the session that there is now, and that is not known to be over. */
bool zk_name_is_alive(struct zk_session *zk, const char *guid);

/* Where the node `own` (its last part) stands in an answered list. False: it is not there. *ret_ahead: the one just
 * before it that it has to wait for, NULL = none. A reader does not wait for other readers. Valid as long as the
 * list. */
bool zk_name_place(const struct zk_call *children, const char *own, const char **ret_ahead);

#endif
