#!/bin/sh
# Creates forge users from lines of NAME,EMAIL,FULL NAME and prints each with a random password, which must be changed at
# the first sign-in. Users that exist are left as they are.
#
#   create-users.sh users.csv > passwords.tsv
set -eu
umask 077

while IFS=, read -r username email name; do
  [ -n "$username" ] || continue
  status=0
  croft admin user view "$username" > /dev/null 2>&1 < /dev/null || status=$?
  case $status in
  0) echo "$username exists" >&2 ;;
  6)
    croft admin user create --username "$username" --email "$email" --full-name "$name" --random-password \
      --must-change-password --jq '"\(.username)\t\(.email)\t\(.password)"' < /dev/null
    ;;
  *) exit "$status" ;;
  esac
done < "$1"
