#!/bin/sh
# Downloads every document that a search finds into a folder.
#
#   search-and-download.sh ~/tax 'gas bill'
set -eu
folder=$1
shift

mkdir -p "$folder"
croft vault search "$@" --kind document --all --jq '.[].document | "\(.id)\t\(.filename)"' |
  while IFS="$(printf '\t')" read -r id name; do
    # Names come from elsewhere: a slash in one must not lead out of the folder. The id keeps two of one name apart.
    file=$folder/$id-$(printf '%s' "$name" | tr '/' '_')
    [ -e "$file" ] || croft vault document download "$id" --output "$file" --quiet > /dev/null
    echo "$file"
  done
