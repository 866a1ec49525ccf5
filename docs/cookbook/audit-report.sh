#!/bin/sh
# Keeps the audit records since a day as CSV, and counts them by event and by who did it.
#
#   audit-report.sh 2026-11-01 november.csv
set -eu
since=$1
file=$2

croft vault admin audit export --from "$since" > "$file"
croft vault admin audit list --from "$since" --all --json |
  jq -r 'group_by([.event_type, .actor_handle])
    | map({event: .[0].event_type, actor: (.[0].actor_handle // "-"), count: length})
    | sort_by(-.count)[] | "\(.count)\t\(.event)\t\(.actor)"'
