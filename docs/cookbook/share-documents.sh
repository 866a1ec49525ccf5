#!/bin/sh
# Shares all documents of a topic with several people. Those who have a document already keep it.
#
#   share-documents.sh Invoices noor otto
set -eu
topic=$1
shift

croft vault document list --topic "$topic" --all --jq '.[].id' | while read -r id; do
  for handle in "$@"; do
    status=0
    croft vault share create "$id" --to "$handle" --permission download --quiet > /dev/null 2>&1 || status=$?
    case $status in
    0) echo "$id: shared with $handle" ;;
    7) echo "$id: $handle has it already" ;;
    *)
      echo "$id: sharing with $handle failed with exit code $status" >&2
      exit "$status"
      ;;
    esac
  done
done
