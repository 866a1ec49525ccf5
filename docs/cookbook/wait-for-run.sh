#!/bin/sh
# Starts a workflow, waits until it has ended, and downloads its artifacts. Fails when the run does, with 8 when it takes
# longer than half an hour.
#
#   wait-for-run.sh acme/site build.yml main out
set -eu
repository=$1
workflow=$2
ref=$3
folder=$4

run=$(croft workflow run "$repository" "$workflow" --ref "$ref" --wait --timeout 30m --jq .run)
croft run download "$repository/$run" --dir "$folder" --quiet > /dev/null
