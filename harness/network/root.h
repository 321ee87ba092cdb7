/* SPDX-License-Identifier: MIT
 *
 * root.h - a process whose file system is another one: the tree of a distribution or of an image, with its own C library
 * below the server's programs.
 */
#ifndef LB_ROOT_H
#define LB_ROOT_H

/* In a child between fork and exec: the folder becomes "/", read-only, in a mount namespace of this process. Visible
 * below the same paths as before are /proc, /dev, /sys and the folders of `keep` (absolute, NULL-terminated); /tmp and
 * /run are empty. Nothing is written into `root`. A tree without /bin, /lib and their like gets them as links to /usr.
 * 0, or -errno (-EPERM: no namespaces). */
int lb_root_enter(const char *root, const char *const keep[]);

#endif
