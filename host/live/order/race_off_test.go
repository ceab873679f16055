//go:build !race

package order

const raced = 1
