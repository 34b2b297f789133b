#!/bin/sh
# Sends what the program at TARGET did since the last run to the OTLP receiver of a Collector.
set -eu
: "${TARGET:=http://localhost:6060/debug/pprof/heap}" "${SERVICE:=checkout}" "${STATE:=./$SERVICE.state}" "${LIMIT:=20}"
: "${RECEIVER:=http://localhost:4318}"
curl -sSf -m "$LIMIT" "$TARGET" |
    pprofdelta --state "$STATE" --no-wait --timeout 30s --for=otel --resource "service.name=$SERVICE" -- \
    curl -sSf -m "$LIMIT" -o /dev/null -H 'Content-Type: application/x-protobuf' -H 'Content-Encoding: gzip' \
    --data-binary @- "$RECEIVER/v1development/profiles"
