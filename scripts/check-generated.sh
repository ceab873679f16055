#!/usr/bin/env bash
# Regenerates what is committed and compares. protoc is the one tool that is not a
# Go program; without it this part is skipped, CI has it.
set -euo pipefail
cd "$(dirname "$0")/.."

go mod tidy -diff
go -C api/ui/tool mod tidy -diff
scripts/licenses.sh --check
go run ./cmd/tools/sdkzip -check
scripts/check-dashboard.sh

if ! command -v protoc >/dev/null; then
	echo "protoc is not installed: generated protobuf code is not compared"
	exit 0
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
scripts/proto.sh "$tmp"
for f in plugin-sdk/strategypb/strategy{,_grpc}.pb.go host/exchange/connectorpb/connector{,_grpc}.pb.go; do
	# The compiler's own version is in a comment and may differ.
	if ! diff <(grep -v '^//.*protoc ' "$tmp/$f") <(grep -v '^//.*protoc ' "$f"); then
		echo "$f is stale: run make proto"
		exit 1
	fi
done
for f in plugin-sdk/python/src/assay/strategy_pb2.py{,i}; do
	cmp "$tmp/$f" "$f" || {
		echo "$f is stale: run make proto"
		exit 1
	}
done
echo "generated code is up to date"
