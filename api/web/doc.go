// Package web is what every handler below api shares: the headers that each
// response carries, JSON answers with entity tag, compression and HEAD, the error
// envelope, Prefer and the description of a route.
//
// It imports api/v1/problem only. The edge in package api puts an Info into the
// context of each request; handlers answer through Send, SendProblem and Asset.
package web
