# SPDX-License-Identifier: MIT
# An operator's file for servers of `serve`, whose `fault` is the command of each verb. Sourced behind tap.sh; $dir, LOCKBENCH_TESTED and XDG_STATE_HOME are the test's.
cat >"$dir/words" <<'END'
file() { # MAY, further lines of [operator], lines of [verbs] that win
  { echo '[operator]'; echo "may = $1"; printf "${2-}"
    number=0
    for server in $LOCKBENCH_SERVERS; do
      case $server in sentinel:*) continue ;; esac
      number=$((number + 1)); printf '[%s]\naddress = %s\n' "$number" "${server#*://}"
    done
    printf "[verbs]\n${3-}"
    for verb in kill restart pause resume; do
      case ${3-} in *"$verb = "*) ;; *) echo "$verb = $LOCKBENCH_TOOL fault $verb node {name}" ;; esac
    done
    echo "cut = $LOCKBENCH_TOOL fault cut node {name} from node {other}"
    echo "heal = $LOCKBENCH_TOOL fault heal node {name} from node {other}"
  } >"$dir/ops.ini"
  chmod 600 "$dir/ops.ini"
}
redis() { timeout 2 redis-cli -h "${LOCKBENCH_REDIS%:*}" -p "${LOCKBENCH_REDIS#*:}" "$@"; }
identity() { redis INFO server | grep ^run_id; }
journal() { cat "$dir"/state/lockbench/operator-*; }
until_journal() { # full or empty, in so many tenths of a second
  for i in $(seq "$2"); do
    case $1-$(journal 2>/dev/null) in full-?* | empty-) return 0 ;; esac
    sleep 0.1
  done
  return 1
}
lockbench() { "$LOCKBENCH_TESTED" "$@" --redis "$LOCKBENCH_REDIS" --operator "$dir/ops.ini"; }
run() { # FOLDER and what is run
  folder=$1
  shift
  lockbench run "$@" -b redis-token@own-redis -g none -n 1 ${again---again} --yes -o "$dir/$folder" 2>&1
  echo "code $? of $folder"
}
END
serve() { # TOPOLOGY, a script for sh on standard input
  cat "$dir/words" - >"$dir/script"
  "$bin" serve "$@" -- sh "$dir/script" >"$dir/out" 2>&1
}
says() { grep -q -- "$1" "$dir/out" || { echo "expected '$1'"; tail -n 30 "$dir/out"; false; }; }
verdicts() { cut -d, -f1,2,7 "$dir/$1/trials.csv" | sed 1d | sort -u | tr '\n' ' '; }
is() { [ "$1" = "$2" ] || { echo "found '$1', expected '$2'"; false; }; }
