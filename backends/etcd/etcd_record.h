/* SPDX-License-Identifier: MIT
 *
 * etcd_record.h - the keys of a foreign lock, as one member of an etcd cluster has them. A record is what they begin with.
 */
#ifndef LB_ETCD_RECORD_H
#define LB_ETCD_RECORD_H

#include "backends/record.h"

extern const struct lb_record_hooks etcd_record_hooks;

#endif
