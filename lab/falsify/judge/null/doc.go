// Package null holds what the battery can find out about a run without playing it again:
// the null models (the same holdings at random times, holding the market at the same
// exposure, the trades in another order), and where its profit comes from (symbols,
// regimes, a few trades), what it costs and at which size it could be traded.
//
// A Run is the search split as it was played, with its candles; each function turns it
// into numbers, from which package judge makes verdicts and package evidence files. Sharpe
// ratios are those of metrics-v1 on its main sample. Random numbers come from the stream
// of their purpose and the number of the replica. Money is in the quote currency.
//
// It imports packages metric and result of the host, the market nouns, and lab/stat.
package null
