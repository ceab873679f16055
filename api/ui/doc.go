// Package ui serves the dashboard: one page at /ui and /api/v1/ui, its script, style
// sheet and icon, and a page with the licences of the libraries inside the script.
//
// The page is a client of the API like any other; nothing here computes anything. It
// is written in TypeScript under src and bundled with the libraries of third_party
// into dist by the program in tool, a module of its own. The chart library is a script
// of its own there, which the page fetches when there is a run to draw. dist is
// committed, so building the service needs neither Node nor the bundler;
// scripts/check-dashboard.sh rebuilds and compares. Nothing is loaded from another host.
//
// It has api/docs' type of a library's entry, so that /docs/licenses lists the same parts.
package ui
