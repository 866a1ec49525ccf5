#!/bin/sh
# Labels open issues without labels by words in their titles. Each further argument is LABEL=PATTERN, a pattern of grep -E.
#
#   triage-issues.sh acme/site bug='crash|error|fails' docs='typo|documentation'
set -eu
repository=$1
shift

croft issue list "$repository" --all --jq '.[] | select(.labels | length == 0) | "\(.number)\t\(.title)"' |
  while IFS="$(printf '\t')" read -r number title; do
    for rule in "$@"; do
      if printf '%s\n' "$title" | grep -qiE -- "${rule#*=}"; then
        croft issue edit "$repository#$number" --add-label "${rule%%=*}" --quiet > /dev/null
        echo "$repository#$number: ${rule%%=*}"
      fi
    done
  done
