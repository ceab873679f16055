#!/usr/bin/env bash
# Writes the list of Go modules that are linked into the programs, with their
# licences: api/docs/licenses/go.tsv (name, version, licence, texts) and the texts
# under api/docs/licenses/texts, each named by its hash. With --check it compares
# instead and says what is stale.
set -euo pipefail
cd "$(dirname "$0")/.."
out=api/docs/licenses
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/texts"

# keep stores one text and prints its name.
keep() {
	local name
	name=$(tr -d '\r' <"$1" | sha256sum | cut -c1-16)
	tr -d '\r' <"$1" >"$tmp/texts/$name.txt"
	echo "$name"
}

# identify prints the SPDX id of a text by its beginning, for some name the licences of
# their parts behind it; an unknown text stops the script.
identify() {
	local text
	text=$(head -c 1600 "$1" | tr -s '[:space:]' ' ')
	case "$text" in
	*"Mozilla Public License"*) echo MPL-2.0 ;;
	*"Apache License"*"Version 2.0"*) echo Apache-2.0 ;;
	*"Redistributions"*"to endorse or promote"*) echo BSD-3-Clause ;;
	*"Redistributions"*) echo BSD-2-Clause ;;
	*"Permission is hereby granted, free of charge"*) echo MIT ;;
	*) echo "unknown licence: $1" >&2 && return 1 ;;
	esac
}

# row prints one line for a module whose licences lie in a folder.
row() {
	local name=$1 version=$2 dir=$3 id="" texts="" f
	for f in "$dir"/LICENSE "$dir"/LICENSE.* "$dir"/LICENSE-* "$dir"/NOTICE* "$dir"/PATENTS; do
		case "$f" in *-LOGO*) continue ;; esac
		[ -f "$f" ] || continue
		[ -n "$id" ] || id=$(identify "$f")
		texts="$texts${texts:+ }$(keep "$f")"
	done
	[ -n "$id" ] || { echo "$name has no licence file" >&2 && return 1; }
	printf '%s\t%s\t%s\t%s\n' "$name" "$version" "$id" "$texts"
}

# api is named because a program of cmd links it whole, governance because one will.
packages=$({
	go list -f '{{if eq .Name "main"}}{{.ImportPath}}{{end}}' ./cmd/... ./strategies/... | grep -v -E 'cmd/tools/(bench|calibrate|demolive|rings|sdkzip)'
	go list ./api/... ./governance/... | grep -v 'test$'
})
{
	row "Assay" "" .
	row "Go standard library and runtime" "go$(go list -m -f "{{.GoVersion}}")" "$(go env GOROOT)"
	go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' $packages |
		sort -u | while read -r name version dir; do row "$name" "$version" "$dir"; done
} >"$tmp/go.tsv"

if [ "${1:-}" = --check ]; then
	diff -r "$out" "$tmp" || { echo "$out is stale: run scripts/licenses.sh"; exit 1; }
	exit
fi
rm -rf "$out"
mkdir -p "$out"
cp -r "$tmp/." "$out/"
echo "$out: $(wc -l <"$out/go.tsv") Go parts, $(ls "$out/texts" | wc -l) texts"
