#!/usr/bin/env bash
# Vendors Scalar, the API reference shown at /docs: api/docs/scalar.js.gz,
# third_party.json, and the licences of every package inside the bundle as
# api/docs/licenses/npm.tsv with texts beside those of the Go modules. Needs npm,
# node and gzip. The same version gives the same bytes.
set -euo pipefail
version=1.72.1
integrity=sha512-XpEJ0rfc/cXbCrR+iC4kK0o/WwX2dTtGQbT049OlPKAHD6IMIFdTeGz2r+M27P2EDWKyUITRm/NzlP8z2pw/Ow==
cd "$(dirname "$0")/.."
root=$PWD
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

(cd "$tmp" && npm pack --silent "@scalar/api-reference@$version" >/dev/null)
got=sha512-$(openssl dgst -sha512 -binary "$tmp"/scalar-api-reference-*.tgz | base64 -w0)
[ "$got" = "$integrity" ] || { echo "the package is not the one that was reviewed: $got"; exit 1; }
tar xzf "$tmp"/scalar-api-reference-*.tgz -C "$tmp"
bundle=$tmp/package/dist/browser/standalone.js
gzip -9nc "$bundle" >api/docs/scalar.js.gz

cat >api/docs/third_party.json <<JSON
{
  "name": "@scalar/api-reference",
  "version": "$version",
  "license": "MIT",
  "file": "scalar.js.gz",
  "sha256": "$(sha256sum <api/docs/scalar.js.gz | cut -d' ' -f1)",
  "content_sha256": "$(sha256sum <"$bundle" | cut -d' ' -f1)",
  "source": "npm:@scalar/api-reference@$version/dist/browser/standalone.js",
  "integrity": "$integrity",
  "license_file": "scalar.LICENSE"
}
JSON

# The source map names every package that went into the bundle.
node "$root/scripts/scalar-packages.js" names "$bundle" >"$tmp/names"
mkdir "$tmp/npm"
(cd "$tmp/npm" && npm pack --silent $(cat "$tmp/names") >/dev/null)
mkdir -p api/docs/licenses/texts
node "$root/scripts/scalar-packages.js" licenses "$tmp/npm" api/docs/scalar.LICENSE "$version" api/docs/licenses
scripts/licenses.sh
