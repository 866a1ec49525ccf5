#!/bin/sh
# Creates forge users from lines of NAME,EMAIL,FULL NAME and prints each with a random password, which must be changed at
# the first sign-in. Users that exist are left as they are.
#
#   create-users.sh users.csv > passwords.tsv
set -eu
umask 077

while IFS=, read -r username email name; do
  [ -n "$username" ] || continue
  # A user that existed is printed without a password, and standard error says so.
  croft admin user create --username "$username" --email "$email" --full-name "$name" --random-password \
    --must-change-password --if-absent --jq 'select(.password) | "\(.username)\t\(.email)\t\(.password)"' < /dev/null
done < "$1"
