#!/usr/bin/env bash
# Regenerates the protobuf code, or with a folder as argument puts it there for
# comparison. Needs protoc on the PATH.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
GOBIN=$tmp go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
GOBIN=$tmp go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
for dir in plugin-sdk/strategypb host/exchange/connectorpb; do
	to=$dir
	if [ -n "$out" ]; then
		to=$out/$dir
		mkdir -p "$to"
	fi
	PATH=$tmp:$PATH protoc -I "$dir" --go_out="$to" --go_opt=paths=source_relative \
		--go-grpc_out="$to" --go-grpc_opt=paths=source_relative "$(cd "$dir" && ls -- *.proto)"
done
python=plugin-sdk/python/src/assay
to=${out:+$out/}$python
mkdir -p "$to"
protoc -I plugin-sdk/strategypb --python_out="$to" --pyi_out="$to" strategy.proto
