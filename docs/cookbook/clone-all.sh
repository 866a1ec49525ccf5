#!/bin/sh
# Keeps a bare mirror of each of your repositories in a folder: clones new ones and fetches the others.
#
#   clone-all.sh /mnt/repositories
set -eu
folder=$1

# git asks croft for the token, so that it is in no address and no file of a clone.
croft git setup --yes --quiet > /dev/null
croft repo list --all --jq '.[] | "\(.full_name)\t\(.clone_url)"' | while IFS="$(printf '\t')" read -r name url; do
  if [ -d "$folder/$name.git" ]; then
    git -C "$folder/$name.git" remote update --prune > /dev/null 2>&1 < /dev/null
    echo "updated $name"
  else
    git clone --quiet --mirror "$url" "$folder/$name.git" < /dev/null
    echo "cloned $name"
  fi
done
