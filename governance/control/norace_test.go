//go:build !race

package control_test

const racing = false
