#!/bin/sh
# Sets up a project: an organization, a team that writes, a repository with labels and a milestone. Prints the address to
# clone from. It may be run again at any time, and completes what is missing.
#
#   git clone "$(set-up-project.sh acme site)"
set -eu
organization=$1
name=$2

{
  croft org create "$organization" --if-absent --quiet
  croft team create "$organization" developers --permission write --all-repositories true --if-absent --quiet
} > /dev/null
url=$(croft repo create "$name" --org "$organization" --init --readme Default --if-absent --quiet --jq .clone_url)
{
  croft label create "$organization/$name" bug --color d73a4a --if-absent --quiet
  croft label create "$organization/$name" idea --color 0e8a16 --if-absent --quiet
  croft milestone create "$organization/$name" "Version 1" --if-absent --quiet
} > /dev/null
printf '%s\n' "$url"
