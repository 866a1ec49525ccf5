#!/bin/sh
# Lists the largest files of a connection: size in bytes, then the path.
#
#   largest-files.sh Papers:/ 20
set -eu
folder=$1
count=${2:-10}

croft vault item tree "$folder" --all \
  --jq "map(select(.kind == \"file\")) | sort_by(-.size) | .[:$count][] | \"\(.size)\t\(.path)\""
