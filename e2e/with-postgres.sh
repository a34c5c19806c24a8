#!/usr/bin/env bash
# Runs a command beside a throw-away PostgreSQL on loopback and hands it over in
# SPANGROVE_TEST_POSTGRES. The server is durable (fsync on) and gone afterwards.
#
#   e2e/with-postgres.sh go test ./pkg/store/...
#
# SPANGROVE_TEST_POSTGRES_DATA is the server's directory. With SPANGROVE_PG_RESTART set, a
# server that is killed is started again on it as long as the command runs.
#
# PostgreSQL refuses to run as root, so as root it runs as the user "postgres"
# (Debian's package makes it) or the one named in SPANGROVE_PG_USER.
set -euo pipefail
[ $# -gt 0 ] || { echo "usage: with-postgres.sh COMMAND [ARG...]" >&2; exit 2; }

# bin NAME: the path of a server program; Debian keeps them off the PATH.
bin() {
  local p
  p=$(command -v "$1" || ls -d /usr/lib/postgresql/*/bin/"$1" 2>/dev/null | sort -V | tail -n 1)
  [ -n "$p" ] || { echo "with-postgres.sh: $1 is not installed (Debian: apt-get install postgresql)" >&2; exit 1; }
  readlink -f "$p"
}
initdb=$(bin initdb)
postgres=$(bin postgres)

dir=$(mktemp -d "${TMPDIR:-/tmp}/spangrove-pg.XXXXXX")
as=()
if [ "$(id -u)" = 0 ]; then
  user=${SPANGROVE_PG_USER:-postgres}
  as=(setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups)
  chown "$user" "$dir"
fi
pid=
finish() {
  status=$?
  trap - EXIT INT TERM
  if [ -n "$pid" ]; then
    kill -INT "$pid" 2>/dev/null || true # fast shutdown
    wait "$pid" 2>/dev/null || true
  fi
  rm -rf "$dir"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

cd "$dir" # a folder that the other user may enter
"${as[@]}" "$initdb" --pgdata="$dir/data" --username=spangrove --auth=trust --encoding=UTF8 --locale=C.UTF-8 >"$dir/initdb.log" 2>&1 ||
  { cat "$dir/initdb.log" >&2; exit 1; }

# The more cores a machine has, the more tests run at once, each with connections of its own.
serve() {
  "${as[@]}" "$postgres" -D "$dir/data" -c listen_addresses=127.0.0.1 -c port="$port" -c unix_socket_directories= \
    -c fsync=on -c max_connections=1000 >>"$dir/server.log" 2>&1 &
  pid=$!
}

# A port that nobody uses, below those of outgoing connections. Another program
# may still be quicker, so a server that does not come up is tried again.
for _ in 1 2 3 4 5; do
  port=$((15000 + (RANDOM * 32768 + RANDOM) % 15000))
  serve
  for _ in $(seq 300); do
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && grep -q "ready to accept connections" "$dir/server.log"; then break 2; fi
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  kill -INT "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  pid=
done
[ -n "$pid" ] || { cat "$dir/server.log" >&2; exit 1; }

cd "$OLDPWD"
export SPANGROVE_TEST_POSTGRES="postgres://spangrove@127.0.0.1:$port/postgres" SPANGROVE_TEST_POSTGRES_DATA=$dir/data
if [ -z "${SPANGROVE_PG_RESTART:-}" ]; then
  "$@"
  exit
fi
"$@" <&0 &
command=$!
while kill -0 "$command" 2>/dev/null; do
  kill -0 "$pid" 2>/dev/null || serve # also again, while what the killed one has left ends
  sleep 0.1
done
wait "$command"
