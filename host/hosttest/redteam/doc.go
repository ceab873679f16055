// Package redteam proves the walls around plugins: its tests start a real service with hostile plugins,
// as root and as an ordinary user, and look from outside at what came of every attack of package attack.
// It holds tests only, and those are for Linux.
//
// In an ordinary test run all attacks that can be made side by side are made in one process of each
// kind. In make prove each attack is made alone, and a table is printed.
package redteam
