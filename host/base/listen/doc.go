// Package listen is what the HTTP servers of this module have in common below their
// handlers: where they listen and which Host headers they answer, the server itself, and
// connections with bounds on number and write stalls.
//
// net/http refuses some requests by itself, before any handler and in a form of its own.
// Connections of a limited listener recognise exactly those answers and write what Refuse
// makes of them instead, so that a client sees one form of refusal only.
//
// It imports nothing of this module. The service's edge is package api, the control
// plane's is in governance/control.
package listen
