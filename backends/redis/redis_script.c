/* SPDX-License-Identifier: MIT
 *
 * Every script writes the lock's key at most once and last, so an error it raises is definite: nothing was done, but a
 * number drawn and lost.
 */
#include "redis_script.h"

const struct redis_script redis_script_delete_if_mine = {
    .sha1 = "8f464d4a626461dd45dd7ecb315f41a7354a3819",
    .text = "if redis.call(\"GET\",KEYS[1])==ARGV[1] then return redis.call(\"DEL\",KEYS[1]) end return 0",
};

/* No waiter hears of it before the script is done, and its changes are on disk where they are to be. */
const struct redis_script redis_script_delete_and_tell = {
    .sha1 = "9c79ba8a68ecf0cd691e90b59fde8a9290d64f5f",
    .text = "if redis.call(\"GET\",KEYS[1])==ARGV[1] then redis.call(\"PUBLISH\",KEYS[1],\"\") "
            "return redis.call(\"DEL\",KEYS[1]) end return 0",
};

/* Never SETs: a lease that has ended stays ended, or the loss would be hidden from its former holder. */
const struct redis_script redis_script_expire_if_mine = {
    .sha1 = "deab3ff9574c9bf1b1405de9baa0cd3dba67a48a",
    .text = "if redis.call(\"GET\",KEYS[1])==ARGV[1] then return redis.call(\"PEXPIRE\",KEYS[1],ARGV[2]) end return 0",
};

/* The number is drawn before the key is set: an INCR that fails (a counter that is no number, no memory) then leaves no
 * lock behind. Scripts run one at a time, so numbers follow the order of grants. An attempt that has the key already,
 * because its reply was lost, gets another number: it is larger than all earlier holders', and smaller than all later
 * ones', since no client can be granted before the key is gone. The counter ends a day after the latest number or
 * extension, or it would stay for ever where no teardown came by. */
const struct redis_script redis_script_set_numbered = {
    .sha1 = "4a2fca087128d34593791597fe5acc9cd86b3aca",
    .text = "local v=redis.call(\"GET\",KEYS[1]) if v and v~=ARGV[1] then return 0 end local "
            "n=redis.call(\"INCR\",KEYS[2]) redis.call(\"EXPIRE\",KEYS[2],86400) if v then return -n end "
            "redis.call(\"SET\",KEYS[1],ARGV[1],\"PX\",ARGV[2]) return n",
    .counts = true,
};

const struct redis_script redis_script_expire_numbered_if_mine = {
    .sha1 = "0f52bf092db1c0e13e61b07e176b74a3aad3cef6",
    .text = "if redis.call(\"GET\",KEYS[1])==ARGV[1] then redis.call(\"EXPIRE\",KEYS[2],86400) "
            "return redis.call(\"PEXPIRE\",KEYS[1],ARGV[2]) end return 0",
    .counts = true,
};

const struct redis_script redis_script_number_if_mine = {
    .sha1 = "307fa5f0db6051d3a885892579614db2c17a0d28",
    .text = "if redis.call(\"GET\",KEYS[1])==ARGV[1] then redis.call(\"EXPIRE\",KEYS[2],86400) "
            "return redis.call(\"INCR\",KEYS[2]) end return 0",
    .counts = true,
};
