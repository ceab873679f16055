// Package alarm holds what an operator has to know of a paper or live run: the table of codes with their
// severities, and the alarms of one run, each with its beginning, its last occurrence, its count and whether
// somebody has acknowledged it.
//
// It is plain data and pure: package live raises and clears, the runner keeps what is open through the end of
// a run until its reset, and api/v1 shows it. It imports the nouns of the market only.
package alarm
