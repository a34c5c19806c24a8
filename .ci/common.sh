# Shared by the scripts of this directory, which source it: their environment, and two functions.
export PYTHONDONTWRITEBYTECODE=1

# Without cgo, as the binary is shipped, and with the same flags throughout: vet, build
# and tests then share one compilation. Only the race detector needs a C compiler and
# a second one.
export CGO_ENABLED=0

export CI_BEGAN=${CI_BEGAN:-$(date +%s)}
say() { printf '\n== %s (after %d s)\n' "$*" $(($(date +%s) - CI_BEGAN)); }

# fetch COMMAND...: runs a command that asks a registry, which may be away for a moment, at
# most three times.
fetch() {
  local pause
  for pause in 5 20; do
    "$@" && return
    echo "it failed; again in $pause s: $*" >&2
    sleep "$pause"
  done
  "$@"
}
