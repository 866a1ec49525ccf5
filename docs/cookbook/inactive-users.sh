#!/bin/sh
# Lists forge users who have not signed in for a number of days: name, address, last sign-in.
#
#   inactive-users.sh 90
set -eu
days=$1

croft admin user list --all --jq "
  .[] | select(.prohibit_login | not) | select((.last_login | fromdate) < (now - $days * 86400))
  | \"\(.login)\t\(.email)\t\(if .last_login < \"1971\" then \"never\" else .last_login end)\""
