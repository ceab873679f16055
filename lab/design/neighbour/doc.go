// Package neighbour makes small changes to parameters: what a strategy must survive that
// is not fitted to a knife edge, test param_neighbourhood of the battery.
//
// The parameters of a run come in, and Ranges that say which of them are numbers and
// how far those may go: FromSchema reads them from the JSON Schema of a strategy,
// WithSpace adds the steps of a search. Out come Variants, the base itself and
// duplicates left out, in an order that depends on nothing but the arguments.
package neighbour
