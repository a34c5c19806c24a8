#!/usr/bin/env bash
# Installs the pinned SDKs into DIR/venv and DIR/node, outside the work tree.
# What is there already is kept, if it was installed from the same pins.
#
#   e2e/sdk/install.sh DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:?usage: install.sh DIR}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

# same FILE STAMP: whether STAMP records that FILE was installed as it is now.
same() { [ -f "$2" ] && cmp -s "$1" "$2"; }

if ! same "$here/python/requirements.txt" "$dir/venv/installed.txt"; then
  python3 -m venv --clear "$dir/venv"
  "$dir/venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/python/requirements.txt"
  cp "$here/python/requirements.txt" "$dir/venv/installed.txt"
fi

if ! same "$here/node/package-lock.json" "$dir/node/installed.json"; then
  mkdir -p "$dir/node"
  cp "$here/node/package.json" "$here/node/package-lock.json" "$dir/node/"
  # No install scripts: the SDK needs none, and none is run that we have not read.
  (cd "$dir/node" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
  cp "$here/node/package-lock.json" "$dir/node/installed.json"
fi
echo "SDKs are in $dir"
