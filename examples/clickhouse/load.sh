#!/bin/sh
# Makes tables of the windows in DELTAS, and asks ClickHouse for the functions that allocated most.
set -eu
: "${DELTAS:=./deltas}" "${TABLES:=./tables}"
query=$(cd "$(dirname "$0")" && pwd)/top.sql
pprofdelta export "$DELTAS"/*.pb.gz -q -o "$TABLES"
cd "$TABLES"
exec clickhouse local --queries-file "$query"
