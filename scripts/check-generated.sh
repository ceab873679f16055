#!/usr/bin/env bash
# Regenerates what is committed and compares. protoc is the one tool that is not a
# Go program; without it this part is skipped, CI has it.
set -euo pipefail
cd "$(dirname "$0")/.."

go mod tidy -diff
go -C api/ui/tool mod tidy -diff
scripts/licenses.sh --check
go run ./internal/sdkzip -check
scripts/check-dashboard.sh

if ! command -v protoc >/dev/null; then
	echo "protoc is not installed: generated protobuf code is not compared"
	exit 0
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
GOBIN=$tmp/bin go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
GOBIN=$tmp/bin go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
mkdir "$tmp/out"
PATH=$tmp/bin:$PATH protoc -I plugin-sdk/strategypb \
	--go_out="$tmp/out" --go_opt=paths=source_relative \
	--go-grpc_out="$tmp/out" --go-grpc_opt=paths=source_relative strategy.proto
for f in strategy.pb.go strategy_grpc.pb.go; do
	# The compiler's own version is in a comment and may differ.
	if ! diff <(grep -v '^//.*protoc ' "$tmp/out/$f") <(grep -v '^//.*protoc ' "plugin-sdk/strategypb/$f"); then
		echo "plugin-sdk/strategypb/$f is stale: run make proto"
		exit 1
	fi
done
echo "generated code is up to date"
