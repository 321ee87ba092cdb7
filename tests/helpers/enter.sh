# SPDX-License-Identifier: MIT
# What the tests of whole machines share. Sourced, not run.

# Runs a command in the system below a folder as its only processes; what is left of them dies with the command. That system becomes
# the root of its mount namespace: in a mere chroot the kernel lets nobody make a user namespace, as on no real machine.
enter() { # FOLDER, then a command
  # shellcheck disable=SC2016 # for the inner shell
  unshare --mount --pid --fork --kill-child env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 sh -c '
    mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" &&
    mkdir -p "$0/old" && cd "$0" && pivot_root . old && umount -l /old && rmdir /old && exec "$@"' "$@"
}
