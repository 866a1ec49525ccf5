#!/bin/sh
# Starts a workflow, waits until it has ended, and downloads its artifacts. Fails when the run does.
#
#   wait-for-run.sh acme/site build.yml main out
set -eu
repository=$1
workflow=$2
ref=$3
folder=$4

run=$(croft workflow run "$repository" "$workflow" --ref "$ref" --jq .run)
# Prints each change of a job until the run has ended.
croft run watch "$repository/$run"
conclusion=$(croft run view "$repository/$run" --jq .conclusion)
if [ "$conclusion" != success ]; then
  echo "run $run: $conclusion" >&2
  exit 1
fi
croft run download "$repository/$run" --dir "$folder" --quiet > /dev/null
