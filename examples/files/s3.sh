#!/bin/sh
# Keeps what the program at TARGET did since the last run as an object of a store with the interface of S3. CREDENTIALS is a
# file for curl with one line: user = "KEY:SECRET"
set -eu
: "${TARGET:=http://localhost:6060/debug/pprof/heap}" "${SERVICE:=checkout}" "${STATE:=./$SERVICE.state}" "${LIMIT:=20}"
: "${BUCKET:=http://localhost:9000/profiles}" "${REGION:=us-east-1}" "${CREDENTIALS:=./credentials}"
export SERVICE LIMIT BUCKET REGION CREDENTIALS
curl -sSf -m "$LIMIT" "$TARGET" |
    pprofdelta --state "$STATE" --no-wait --timeout 30s --for=pprof -- sh -c '
        name=$SERVICE.$PPROFDELTA_ID.$(printf %08d "$PPROFDELTA_SEQUENCE").$PPROFDELTA_ATTEMPT.pb.gz
        curl -sSf -m "$LIMIT" -o /dev/null -K "$CREDENTIALS" --aws-sigv4 "aws:amz:$REGION:s3" -X PUT \
            -H "Content-Type: application/octet-stream" --data-binary @- "$BUCKET/$name"'
