#!/bin/sh
# Replaces the forge token that a program reads from a file. The old tokens of that name end after the new one works.
#
#   rotate-token.sh deploy write:repository,read:user /etc/deploy/token
set -eu
umask 077
name=$1
scopes=$2
file=$3

fresh=$name-$(date -u +%Y%m%dT%H%M%SZ)-$$
croft token create "$fresh" --scope "$scopes" --jq .sha1 > "$file.new"
CROFT_FORGE_TOKEN=$(cat "$file.new") croft api GET /api/v1/user > /dev/null
# A rename: the program never reads half a token.
mv "$file.new" "$file"
croft token list --all --jq '.[] | select(.name | startswith("'"$name"'-")) | .name' | while read -r old; do
  [ "$old" = "$fresh" ] || croft token delete "$old" --yes --quiet > /dev/null
done
echo "$fresh"
