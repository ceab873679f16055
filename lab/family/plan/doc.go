// Package plan is the registration of a search before it begins: plan.json, format
// family-plan/v1.
//
// Make takes lab.json's family block, the options of the command and a canonical request
// of kind trial, picks every point by package design, and gives a File: a Plan with its
// bytes, its hash and its id. Nothing in it depends on when or where it was made. Write
// puts it where Read finds it; Read believes no byte that is not the registered one.
// Package family runs it, the registry keeps its hash.
//
// What is refused is an *evaluate.Error with a code of the lab's table and the place,
// a JSON pointer of lab.json or a flag.
package plan
