#!/usr/bin/env bash
# Makes the two fonts of the pages from those of the npm packages @fontsource-variable/geist and geist-mono: the weights that style
# sheets use (text in Geist Mono is never bold but within headings, where the browser thickens it), and the characters and features of
# the pages. It takes them from 52 KB to 25. Needs Python with fonttools and brotli.
#
#   subset.sh FOLDER     with geist-latin-wght-normal.woff2 and geist-mono-latin-wght-normal.woff2 of the packages
set -euo pipefail
from=${1:?usage: subset.sh FOLDER}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
subset() { # NAME WEIGHTS OUTPUT
  fonttools varLib.instancer "$from/$1.woff2" "wght=$2" -o "$work/$1.ttf" -q
  pyftsubset "$work/$1.ttf" --output-file="$here/$3.woff2" --flavor=woff2 --no-hinting \
    --layout-features=kern,mark,mkmk,ccmp,locl,tnum \
    --unicodes=U+20-7E,U+A0-FF,U+131,U+152-153,U+2C6,U+2DA,U+2DC,U+2013-2014,U+2018-201A,U+201C-201E,U+2022,U+2026,U+2030,U+2032-2033,U+2039-203A,U+20AC,U+2122,U+2190-2193,U+2212,U+2260,U+2264-2265,U+2713,U+2715
}
subset geist-latin-wght-normal 400:600 geist-latin-wght-normal
subset geist-mono-latin-wght-normal 400 geist-mono-latin-400-normal
