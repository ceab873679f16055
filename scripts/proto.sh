#!/usr/bin/env bash
# Regenerates the protobuf code. Needs protoc on the PATH.
set -euo pipefail
cd "$(dirname "$0")/../plugin-sdk/strategypb"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
GOBIN=$tmp go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
GOBIN=$tmp go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
PATH=$tmp:$PATH protoc -I . --go_out=. --go_opt=paths=source_relative \
	--go-grpc_out=. --go-grpc_opt=paths=source_relative strategy.proto
