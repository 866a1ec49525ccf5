#!/bin/sh
# Prints the unread notification threads as Markdown, and marks those that it has printed as read.
#
#   inbox-digest.sh >> ~/today.md
set -eu
threads=$(croft notification list --status unread --all --json)

croft_ids=$(printf '%s' "$threads" | jq -r '.[].id')
[ -n "$croft_ids" ] || exit 0
printf '%s' "$threads" |
  jq -r 'group_by(.repository.full_name)[]
    | "## \(.[0].repository.full_name)", (.[] | "- \(.subject.type): \(.subject.title) <\(.subject.html_url)>"), ""'
# What has come in since is not marked: only these ids are.
# shellcheck disable=SC2086 -- ids are numbers
croft notification mark $croft_ids --as read --quiet > /dev/null
