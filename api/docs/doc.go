// Package docs is the documentation that the service shows about itself: the API
// reference at /docs, made in the browser from /openapi.json, and plain pages about
// error codes, stream events, deprecations and licences.
//
// The reference is Scalar, vendored as scalar.js.gz and described by
// third_party.json; assets/init.js starts it. The plain pages are made once, when
// the service starts, from the tables they document: problem.Table, the failed-run
// codes in reasons.go, the events of the stream, the deprecation registry and the
// lists under licenses. Those lists and the vendored file are written by
// scripts/licenses.sh and scripts/scalar.sh.
//
// Nothing on any page is loaded from another host, and only /docs runs a script.
package docs
