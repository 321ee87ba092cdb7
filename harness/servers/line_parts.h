/* SPDX-License-Identifier: MIT
 *
 * line_parts.h - what the files of a delay line share; nobody else includes it.
 */
#ifndef LB_LINE_PARTS_H
#define LB_LINE_PARTS_H

#include "line.h"

/* What comes from a line has this address in its Ethernet header: so the rules at the receiver know
 * it from what came straight. (Locally administered; no link of a trial has it.) */
#define LB_LINE_MAC "02:6c:62:64:6c:79"
#define LB_LINE_MAC_BYTES {0x02, 0x6c, 0x62, 0x64, 0x6c, 0x79}

/* How the line's process reads and sends frames: behind the kernel's own header (virtio_net_hdr), so
 * that large segments and unfinished checksums pass as they are. */
enum { LB_LINE_HEADER = 10, LB_LINE_FRAME_MAX = LB_LINE_HEADER + 14 + 65536 };

struct lb_line_job { /* what the process of a line works with */
  struct lb_line *line;
  const int *tap;       /* [way_count] what the sender of a way sends to its receiver, as copies */
  const int *interface; /* [way_count] number of the link to the receiver */
  int out;              /* a socket that sends frames */
  int talk;             /* the process's end */
};

/* line_run.c: takes, keeps and sends on until `talk` ends. */
_Noreturn void lb_line_run(const struct lb_line_job *job);

#endif
