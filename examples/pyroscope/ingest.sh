#!/bin/sh
# Sends what the program at TARGET did since the last run to Pyroscope, by /ingest.
set -eu
: "${TARGET:=http://localhost:6060/debug/pprof/heap}" "${SERVICE:=checkout}" "${STATE:=./$SERVICE.state}" "${LIMIT:=20}"
: "${RECEIVER:=http://localhost:4040}"
curl -sSf -m "$LIMIT" "$TARGET" |
    pprofdelta --state "$STATE" --no-wait --timeout 30s --for=pprof -- \
    curl -sSf -m "$LIMIT" -o /dev/null -F profile=@- -F "sample_type_config=@$(dirname "$0")/sample_types.json" \
    "$RECEIVER/ingest?name=$SERVICE&spyName=gospy"
