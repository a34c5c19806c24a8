#!/usr/bin/env bash
# Installs the pinned SDKs into DIR/venv, DIR/venv-older, DIR/venv-openai-v2,
# DIR/venv-anthropic, DIR/venv-llama-index, DIR/venv-mcp, scipy into DIR/venv-statistics, DIR/node and DIR/vercel, what tests the pages into DIR/web, what tests the API into
# DIR/venv-schemathesis, and HoneyHive's own integration tests into
# DIR/honeyhive-source and DIR/venv-suite, all outside the work tree.
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

# python VENV REQUIREMENTS: an environment with what the file names.
python() {
  same "$here/python/$2" "$dir/$1/installed.txt" && return
  python3 -m venv --clear "$dir/$1"
  "$dir/$1/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/python/$2"
  cp "$here/python/$2" "$dir/$1/installed.txt"
}

# node FOLDER: the packages of a folder beside this script.
node() {
  same "$here/$1/package-lock.json" "$dir/$1/installed.json" && return
  mkdir -p "$dir/$1"
  cp "$here/$1/package.json" "$here/$1/package-lock.json" "$dir/$1/"
  # No install scripts: the SDKs need none, and none is run that we have not read.
  (cd "$dir/$1" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
  cp "$here/$1/package-lock.json" "$dir/$1/installed.json"
}

# source_of VENV FILE FOLDER: the one source distribution that the file names, unpacked.
source_of() {
  same "$here/python/$2" "$dir/$3/installed.txt" && return
  rm -rf "$dir/$3" "$dir/$3.download"
  "$dir/$1/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary honeyhive \
    --require-hashes --dest "$dir/$3.download" --requirement "$here/python/$2"
  mkdir "$dir/$3"
  tar -xzf "$dir/$3.download"/*.tar.gz -C "$dir/$3" --strip-components=1
  rm -r "$dir/$3.download"
  cp "$here/python/$2" "$dir/$3/installed.txt"
}

python venv requirements.txt
python venv-older requirements-older.txt
python venv-openai-v2 requirements-openai-v2.txt
python venv-anthropic requirements-anthropic.txt
python venv-llama-index requirements-llama-index.txt
python venv-schemathesis requirements-schemathesis.txt
python venv-suite requirements-suite.txt
python venv-statistics requirements-statistics.txt
python venv-mcp requirements-mcp.txt
source_of venv-suite suite-source.txt honeyhive-source
node node
node vercel
node web
# Modules are looked up beside the file that imports them, so this one must stand there.
cp "$here/vercel/vercel.mjs" "$dir/vercel/"
echo "SDKs are in $dir"
