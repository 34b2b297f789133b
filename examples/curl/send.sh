#!/bin/sh
# Sends what the program at TARGET did since the last run to any program that takes files by HTTP.
set -eu
: "${TARGET:=http://localhost:6060/debug/pprof/heap}" "${SERVICE:=checkout}" "${STATE:=./$SERVICE.state}" "${LIMIT:=20}"
: "${RECEIVER:=http://localhost:8080/profiles}"
export SERVICE LIMIT RECEIVER
curl -sSf -m "$LIMIT" "$TARGET" |
    pprofdelta --state "$STATE" --no-wait --timeout 30s --for=pprof -- sh -c '
        curl -sSf -m "$LIMIT" -o /dev/null -H "Content-Type: application/octet-stream" \
            -H "Pprofdelta-Service: $SERVICE" -H "Pprofdelta-Id: $PPROFDELTA_ID" \
            -H "Pprofdelta-Sequence: $PPROFDELTA_SEQUENCE" -H "Pprofdelta-Attempt: $PPROFDELTA_ATTEMPT" \
            --data-binary @- "$RECEIVER"'
