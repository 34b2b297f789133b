#!/bin/sh
# Sends what the program at TARGET did since the last run to Parca, by OTLP, which Parca takes by gRPC only: a byte, the
# length in four bytes, and the request. The answer is in the trailer grpc-status.
set -eu
: "${TARGET:=http://localhost:6060/debug/pprof/heap}" "${SERVICE:=checkout}" "${STATE:=./$SERVICE.state}" "${LIMIT:=20}"
: "${RECEIVER:=http://localhost:7070}"
export LIMIT RECEIVER
curl -sSf -m "$LIMIT" "$TARGET" |
    pprofdelta --state "$STATE" --no-wait --timeout 30s --for=parca --compress=none \
    --resource "service.name=$SERVICE" -- sh -c '
        request=$(mktemp) && trap "rm -f $request" EXIT && cat >"$request" || exit
        length=$(printf %08x "$(wc -c <"$request")" | sed "s/../\\\\x&/g")
        said=$({ env printf "\\0$length"; cat "$request"; } | curl -sS -m "$LIMIT" --http2-prior-knowledge \
            -H "Content-Type: application/grpc" -H "TE: trailers" --data-binary @- -o /dev/null -D - \
            "$RECEIVER/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export") || exit
        case $said in *grpc-status:\ 0*) ;; *) echo "$said" >&2; exit 1 ;; esac'
