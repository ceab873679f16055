//go:build !race

package desk

const raced = 1
