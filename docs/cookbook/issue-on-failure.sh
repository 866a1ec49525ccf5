#!/bin/sh
# Runs a command. When it fails, opens an issue with the end of its output, or comments on the one that is open. The exit
# code is that of the command.
#
#   issue-on-failure.sh acme/infra 'Nightly backup fails' /usr/local/bin/back-up-home.sh /mnt/backups
set -eu
repository=$1
title=$2
shift 2

log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
"$@" > "$log" 2>&1 || status=$?
[ "$status" -ne 0 ] || exit 0

text=$(printf '`%s` ended with exit code %s:\n\n```\n%s\n```\n' "$*" "$status" "$(tail -n 50 "$log")")
number=$(croft issue list "$repository" --search "$title" --json |
  jq -r --arg title "$title" 'map(select(.title == $title))[0].number // empty')
if [ -n "$number" ]; then
  printf '%s\n' "$text" | croft issue comment "$repository#$number" --body - --jq .html_url
else
  printf '%s\n' "$text" | croft issue create "$repository" --title "$title" --body - --jq .html_url
fi
exit "$status"
