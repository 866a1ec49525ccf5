#!/bin/sh
# Closes the account of a user who leaves: no more sign-ins, no more tokens, repositories to a successor.
#
#   offboard-user.sh otto mira
set -eu
leaver=$1
successor=$2

croft admin user edit "$leaver" --prohibit-login true --quiet > /dev/null
croft token list --username "$leaver" --all --jq '.[].id' | while read -r id; do
  croft token delete "$id" --username "$leaver" --yes --quiet > /dev/null
done
croft repo list "$leaver" --all --jq '.[] | select(.owner.login == "'"$leaver"'") | .full_name' |
  while read -r repository; do
    croft repo transfer "$repository" "$successor" --quiet > /dev/null
    echo "$repository goes to $successor"
  done
