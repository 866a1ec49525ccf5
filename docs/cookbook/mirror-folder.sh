#!/bin/sh
# Mirrors a folder into connected storage. What was deleted in the folder is deleted there, too.
#
#   mirror-folder.sh ~/notes Papers:/notes
#
# Every night with cron: 30 3 * * * /usr/local/bin/mirror-folder.sh ~/notes Papers:/notes
set -eu
folder=$1
target=$2

# An empty folder is more likely a disk that is not mounted than the wish to delete everything.
if [ -z "$(ls -A "$folder")" ]; then
  echo "$folder is empty: nothing was mirrored" >&2
  exit 2
fi
croft vault item mkdir "$target" --parents --quiet > /dev/null
croft vault item sync "$folder" "$target" --delete --yes --jq '"mirrored \(length) changes"'
