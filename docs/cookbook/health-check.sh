#!/bin/sh
# Checks a daemon for a monitoring system: one line, and exit code 0 for well, 1 for a warning, 2 for down.
#
#   health-check.sh
set -eu
status=0
daemon=$(croft daemon status --json 2> /dev/null) || status=$?
if [ "$status" -ne 0 ]; then
  echo "CRITICAL: the daemon does not run (exit code $status)"
  exit 2
fi
if [ "$(printf '%s' "$daemon" | jq .ready)" != true ]; then
  echo "WARNING: the daemon is still starting"
  exit 1
fi
failed=$(croft run list --status failure --limit 50 --user --jq length)
version=$(croft api GET /api/v1/version --jq .version)
echo "OK: croft $version, $failed failed runs"
