#!/bin/sh
# Publishes the npm package of a folder, with a token that ends with the script.
#
#   publish-npm.sh acme packages/tools
set -eu
umask 077
owner=$1
folder=$2

url=$(croft whoami --jq .url)
token=npm-publish-$$
settings=$(mktemp)
trap 'rm -f "$settings"; croft token delete "$token" --yes --quiet > /dev/null' EXIT
{
  echo "registry=$url/api/packages/$owner/npm/"
  echo "//${url#*://}/api/packages/$owner/npm/:_authToken=$(croft token create "$token" --scope write:package --jq .sha1)"
} > "$settings"
npm publish "$folder" --userconfig "$settings"
