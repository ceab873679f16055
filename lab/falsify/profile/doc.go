// Package profile is what a falsification is made with: how many replays, which tests,
// and the thresholds of the verdicts, falsify-profile/1.
//
// The default is embedded. A file of a user's own changes what it names and is read
// strictly; the options of the command come on top. Equal profiles have equal canonical
// text, whose hash is part of the request, so that another threshold is another question.
// It imports host/base/digest and lab/falsify/judge.
package profile
