#!/bin/sh
# Uploads the files of a folder as documents. Run it again at any time: names that are there are left out.
#
#   import-documents.sh ~/scans
set -eu
folder=$1

known=$(mktemp)
trap 'rm -f "$known"' EXIT
croft vault document list --all --jq '.[].filename' > "$known"

find "$folder" -type f | sort | while read -r file; do
  name=$(basename "$file")
  if grep -qxF -- "$name" "$known"; then
    continue
  fi
  croft vault document upload "$file" --quiet --jq '"uploaded \(.filename) (\(.size_bytes) bytes)"'
done
