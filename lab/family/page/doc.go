// Package page shows a family as one HTML file that opens offline: no script, no request,
// light and dark. It says in plain words what the search has done to the numbers, because
// that is what a table of trials hides. Its bytes depend on the results alone.
//
// It reads what package family has concluded and judges nothing itself. The words are
// used by the command as well.
package page
