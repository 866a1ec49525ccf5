#!/bin/sh
# Appends a line to a text file in connected storage, which other programs may change at the same time: when one of them was
# faster, the new version is read and the line is appended to that. Creates no file.
#
#   append-line.sh Papers:/log.txt "backup done"
set -eu
item=$1
line=$2
copy=$(mktemp)
trap 'rm -f "$copy"' EXIT

for attempt in 1 2 3 4 5; do
  etag=$(croft vault item view "$item" --jq .etag)
  croft vault item cat "$item" > "$copy"
  printf '%s\n' "$line" >> "$copy"
  status=0
  croft vault item upload "$copy" "$item" --if-match "$etag" --quiet > /dev/null || status=$?
  # 7: the file has changed since its etag was read.
  [ "$status" -eq 7 ] || exit "$status"
  sleep "$attempt"
done
exit 7
