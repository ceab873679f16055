#!/usr/bin/env bash
# Holds what is generated for the dashboard against what is committed. Go alone rebuilds
# the bundle and contract.ts. Where Node and the packages of api/ui are installed, the
# types of the API are generated and compared too, the sources are type-checked, the
# vendored files are compared with the npm packages, and npm's esbuild makes the bundle
# once more. With ASSAY_E2E=required a missing Node is a failure.
set -euo pipefail
cd "$(dirname "$0")/../api/ui"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail() {
	echo "$*"
	exit 1
}

(cd tool && go run . -gen -o "$tmp/contract.ts" && go run . -o "$tmp/dist")
cmp "$tmp/contract.ts" src/gen/contract.ts || fail "api/ui/src/gen/contract.ts is stale: run make ui"
diff -r "$tmp/dist" dist >"$tmp/diff" || {
	cut -c1-200 "$tmp/diff" | head -20
	fail "api/ui/dist is stale: run make ui"
}
echo "the dashboard's bundle and contract.ts are up to date"

# skip names what is missing and everything that is therefore not checked.
skip() {
	echo "SKIP dashboard types, tsc, npm packages and npm bundle: $1"
	[ "${ASSAY_E2E:-}" != required ] || fail "ASSAY_E2E=required: this may not be skipped"
	exit 0
}
command -v node >/dev/null || skip "no Node found (20 or newer)"
major=$(node -p 'process.versions.node.split(".")[0]')
[ "$major" -ge 20 ] || skip "Node 20 or newer is needed, this is $(node --version)"
[ -d node_modules ] || skip "the packages are not installed (npm ci in api/ui)"

node_modules/.bin/openapi-typescript ../v1/openapi.json -o "$tmp/api.ts" >"$tmp/log" 2>&1 || fail "$(cat "$tmp/log")"
cmp "$tmp/api.ts" src/gen/api.ts || fail "api/ui/src/gen/api.ts is stale: run make ui"
node_modules/.bin/tsc --noEmit -p .

# origin is where npm has a file of third_party.
origin() {
	case "$1" in
	preact/preact.mjs) echo preact/dist/preact.mjs ;;
	preact/hooks.mjs) echo preact/hooks/dist/hooks.mjs ;;
	preact/jsxRuntime.mjs) echo preact/jsx-runtime/dist/jsxRuntime.mjs ;;
	preact-signals/signals-core.mjs) echo @preact/signals-core/dist/signals-core.mjs ;;
	preact-signals/signals.mjs) echo @preact/signals/dist/signals.mjs ;;
	preact-signals/LICENSE) echo @preact/signals/LICENSE ;;
	lightweight-charts/*.mjs) echo "lightweight-charts/dist/${1#*/}" ;;
	*) echo "$1" ;;
	esac
}
for file in third_party/*/*; do
	name=${file#third_party/}
	case "$name" in
	lightweight-charts/NOTICE | fancy-canvas/LICENSE) continue ;; # their packages have none
	esac
	cmp "$file" "node_modules/$(origin "$name")" || fail "api/ui/$file is not the file of the npm package"
done

node tool/build.mjs "$tmp/npm"
for file in charts.js app.js pages.js app.css pages.css icon.svg; do
	# app.js imports charts.js by its final name, pages.js app.js.
	sed 's#"\./charts-[0-9a-f]*\.js"#"./charts.ts"#; s#"\./app-[0-9a-f]*\.js"#"./chunk.js"#' dist/"${file%.*}"-*."${file##*.}" | cmp "$tmp/npm/$file" - || fail "npm's esbuild makes another $file than the Go module: bundle.go and build.mjs differ"
done
echo "the dashboard's types, vendored files and npm bundle agree"
