#!/bin/sh
# Reports the deliveries of system hooks that failed, and mails the report when an address is given. Exit code 1 tells that
# there are some.
#
#   failing-hooks.sh root@example.org
set -eu
report=$(mktemp)
trap 'rm -f "$report"' EXIT

croft admin hook list --all --jq '.[] | "\(.id)\t\(.config.url)"' | while IFS="$(printf '\t')" read -r id url; do
  croft admin hook delivery list "$id" --state failed --limit 5 \
    --jq '.[] | "\(.created_at) \(.event) \(.response_status // "no response")"' |
    while read -r line; do echo "$url: $line"; done
done > "$report"

[ -s "$report" ] || exit 0
cat "$report"
if [ $# -gt 0 ]; then
  mail -s "Webhooks that fail" "$1" < "$report"
fi
exit 1
