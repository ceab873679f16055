-- What is stored: one row a dataset. The candles themselves are in
-- data/candles/<sha256>.candles.
CREATE TABLE datasets (
    id           TEXT    NOT NULL, -- <exchange>-<base>-<quote>-<timeframe>-<12 hex of sha256>, lower case, for people
    exchange     TEXT    NOT NULL,
    symbol       TEXT    NOT NULL, -- BASE/QUOTE
    timeframe    TEXT    NOT NULL, -- 1h
    sha256       TEXT    NOT NULL, -- of the candle file
    rows         INTEGER NOT NULL,
    first_ms     INTEGER NOT NULL, -- open time of the first candle, Unix ms
    last_ms      INTEGER NOT NULL, -- open time of the last candle
    calendar     TEXT    NOT NULL, -- 24x7 or weekdays
    price_step   TEXT    NOT NULL, -- decimal, 10^-k
    volume_unit  TEXT    NOT NULL, -- base, quote, contracts, ticks
    derived_from TEXT    NOT NULL DEFAULT '', -- sha256 that it was resampled from; empty: imported
    report_json  TEXT    NOT NULL, -- the import report
    created_at   TEXT    NOT NULL, -- RFC 3339, UTC
    current      INTEGER NOT NULL, -- 1: the newest of its exchange, symbol and timeframe
    UNIQUE (exchange, symbol, timeframe, sha256)
) STRICT;

CREATE UNIQUE INDEX datasets_current ON datasets (exchange, symbol, timeframe) WHERE current = 1;
