#!/bin/sh
# Keeps what the program at TARGET did since the last run as a file in FOLDER. The file is complete, or has another name.
set -eu
: "${TARGET:=http://localhost:6060/debug/pprof/heap}" "${SERVICE:=checkout}" "${STATE:=./$SERVICE.state}" "${LIMIT:=20}"
: "${FOLDER:=./deltas}"
export SERVICE FOLDER
mkdir -p "$FOLDER"
curl -sSf -m "$LIMIT" "$TARGET" |
    pprofdelta --state "$STATE" --no-wait --timeout 30s --for=pprof -- sh -c '
        new=$FOLDER/.$SERVICE.$PPROFDELTA_ID
        name=$SERVICE.$PPROFDELTA_ID.$(printf %08d "$PPROFDELTA_SEQUENCE").$PPROFDELTA_ATTEMPT.pb.gz
        cat >"$new" && sync "$new" && mv "$new" "$FOLDER/$name" && sync "$FOLDER"'
