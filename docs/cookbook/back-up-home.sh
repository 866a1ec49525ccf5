#!/bin/sh
# Backs up the home of the daemon, proves that the backup can be restored, and keeps the newest seven. The passphrase
# that seals the keys is the first line of the second argument.
#
#   back-up-home.sh /mnt/backups ~/passphrase.txt
set -eu
folder=$1
passphrase=$2
keep=7

mkdir -p "$folder"
name=croft-$(date -u +%Y%m%dT%H%M%SZ).tar
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

croft daemon backup "$folder/$name" --with-keys --passphrase-stdin --quiet < "$passphrase" > /dev/null

# Only a backup that was restored is known to be one.
croft --home "$scratch/home" daemon restore "$folder/$name" --with-keys --passphrase-stdin --yes --quiet \
  < "$passphrase" > /dev/null
problems=$(croft --home "$scratch/home" daemon check --quiet --jq '.[] | "\(.part) \(.name): \(.problem)"')
if [ -n "$problems" ]; then
  echo "$problems" >&2
  exit 1
fi
echo "$folder/$name"

find "$folder" -name 'croft-*.tar' | sort -r | tail -n "+$((keep + 1))" | while read -r old; do
  rm -- "$old"
done
