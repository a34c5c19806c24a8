#!/usr/bin/env bash
# Measures Spangrove on SQLite and on PostgreSQL beside the fsync sink, the least
# that durable storage can cost: same load, same machine, one after the other,
# and prints one table. Nothing else should run meanwhile.
#
#   e2e/bench.sh             N=200000 spans a server
#   N=20000 e2e/bench.sh     a short look
#
#   N         spans to send to each server (default 200000), in requests of 100
#   SERVERS   which to measure (default "sink-fsync sqlite postgres"); also "postgres-pooler", with PgBouncer, and "postgres-replica"
#   OUT       file for all figures as JSON lines
#   ARGS      more flags for "loadgen bench", such as "-interleave"
#
#   e2e/bench.sh scale       many small events, and questions with known answers
#
#   N         events, a number or more of them (default "100000 1000000 10000000"); the last table shows how costs grow
#   SERVERS   which to ask (default "sqlite postgres"), LIMITS which to take as limits (default "noop sink-fsync")
#   OUT       file for all figures as JSON; ARGS more flags for "loadgen scale", such as "-incoming 500"
set -euo pipefail
kind=${1:-bench}
case $kind in bench | scale) ;; *) echo "usage: bench.sh [scale]" >&2; exit 2 ;; esac
here=$(cd "$(dirname "$0")" && pwd)
if [ "$kind" = scale ]; then
  n=${N:-100000 1000000 10000000} servers=${SERVERS:-sqlite postgres}
else
  n=${N:-200000} servers=${SERVERS:-sink-fsync sqlite postgres}
fi

dir=$(mktemp -d "${TMPDIR:-/tmp}/spangrove-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir" # PostgreSQL runs as another user and its data lies below

export LOADGEN=$dir/loadgen SPANGROVE=$dir/spangrove KEY=sg_bench_0123456789abcdef0123456789abcdef
echo "building" >&2
(cd "$here/loadgen" && go build -o "$LOADGEN" .)
(cd "$here/.." && CGO_ENABLED=0 go build -ldflags "-s -w" -o "$SPANGROVE" ./cmd/spangrove)

# Six ports that nobody uses, below those of outgoing connections.
port() {
  local p
  while :; do
    p=$((15000 + (RANDOM * 32768 + RANDOM) % 15000))
    (exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null || { echo "$p"; return; }
  done
}
API_PORT=$(port) OTLP_GRPC_PORT=$(port) OTLP_HTTP_PORT=$(port) POSTGRES_PORT=$(port) POOLER_PORT=$(port) REPLICA_PORT=$(port)
export API_PORT OTLP_GRPC_PORT OTLP_HTTP_PORT POSTGRES_PORT POOLER_PORT REPLICA_PORT

case " $servers " in *" postgres"*)
  initdb=$(command -v initdb || ls -d /usr/lib/postgresql/*/bin/initdb 2>/dev/null | sort -V | tail -n 1)
  [ -n "$initdb" ] || { echo "bench.sh: PostgreSQL is not installed (Debian: apt-get install postgresql)" >&2; exit 1; }
  POSTGRES_BIN=$(dirname "$(readlink -f "$initdb")") POSTGRES_AS='' POSTGRES_OWNER=''
  if [ "$(id -u)" = 0 ]; then # PostgreSQL refuses to run as root
    user=${SPANGROVE_PG_USER:-postgres}
    POSTGRES_AS="setpriv --reuid=$user --regid=$(id -g "$user") --clear-groups"
    POSTGRES_OWNER="-o $user"
  fi
  POOLER=$(command -v pgbouncer || echo /usr/sbin/pgbouncer) # Debian's, off the PATH of most users
  export POSTGRES_BIN POSTGRES_AS POSTGRES_OWNER POOLER
  ;;
esac

specs() { local s; for s; do printf ',%s' "$here/loadgen/specs/$s.json"; done; }
# shellcheck disable=SC2086 # these are lists
specs=$(specs $servers)
if [ "$kind" = scale ]; then
  # shellcheck disable=SC2086
  limits=$(specs ${LIMITS:-noop sink-fsync})
  # shellcheck disable=SC2086
  "$LOADGEN" scale -dir "$dir/data" -n "$n" -spec "${specs#,}" -limits "${limits#,}" ${OUT:+-out "$OUT"} ${ARGS:-}
  exit
fi
# A whole number of the load's traces: they come in fives of 60 spans.
# shellcheck disable=SC2086 # ARGS is a list of flags
"$LOADGEN" bench -dir "$dir" -n $((n / 60 * 60)) -spec "${specs#,}" ${OUT:+-out "$OUT"} ${ARGS:-}
