#!/bin/sh
# Deletes all versions of a package but the newest ones.
#
#   clean-packages.sh acme generic tools 5
set -eu
owner=$1
type=$2
name=$3
keep=$4

croft admin package list --type "$type" --search "$name" --all --json |
  jq -r --arg owner "$owner" --arg name "$name" --argjson keep "$keep" '
    map(select(.owner.login == $owner and .name == $name)) | sort_by(.created_at, .id) | reverse | .[$keep:][].version' |
  while read -r version; do
    croft admin package delete "$owner" "$type" "$name" "$version" --yes --quiet > /dev/null
    echo "deleted $name $version"
  done
