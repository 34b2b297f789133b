#!/bin/sh
# Sends what the program at TARGET did since the last run to Parca, by WriteRaw over HTTP.
set -eu
: "${TARGET:=http://localhost:6060/debug/pprof/heap}" "${SERVICE:=checkout}" "${STATE:=./$SERVICE.state}" "${LIMIT:=20}"
: "${RECEIVER:=http://localhost:7070}" "${NAME:=memory}"
export SERVICE LIMIT RECEIVER NAME
curl -sSf -m "$LIMIT" "$TARGET" |
    pprofdelta --state "$STATE" --no-wait --timeout 30s --for=pprof -- sh -c '
        {
            printf "{\"series\":[{\"labels\":{\"labels\":[{\"name\":\"__name__\",\"value\":\"%s\"}," "$NAME"
            printf "{\"name\":\"job\",\"value\":\"%s\"}]},\"samples\":[{\"rawProfile\":\"" "$SERVICE"
            base64 -w0
            printf "\"}]}]}"
        } | curl -sSf -m "$LIMIT" -o /dev/null -H "Content-Type: application/json" --data-binary @- \
            "$RECEIVER/api/profiles/writeraw"'
