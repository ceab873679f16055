-- Times are Unix milliseconds UTC, hashes lower-case hex, money decimal text, lists and
-- objects canonical JSON. Rows are only ever added, in runs also completed; the order of
-- insertion (rowid) is the order in which the entries of log vouch for them.

-- Every run, live and paper, from before it touches the network.
CREATE TABLE runs (
    run_id          TEXT PRIMARY KEY,
    run_tag         TEXT NOT NULL UNIQUE, -- the six characters in its client order ids
    mode            TEXT NOT NULL CHECK (mode IN ('paper', 'live')),
    exchange        TEXT NOT NULL,
    account_id      TEXT NOT NULL,        -- the venue's own; run_id in paper; '' until it is connected
    symbols         TEXT NOT NULL,        -- list
    timeframe       TEXT NOT NULL,
    request         TEXT NOT NULL,        -- as it was asked, secrets redacted
    strategy_sha256 TEXT NOT NULL,
    markets         TEXT NOT NULL,        -- the rules of the symbols; null until they are known
    risk            TEXT NOT NULL,        -- the effective limits
    start_cash      TEXT,                 -- free Quote; null until it is known
    started_at      INTEGER NOT NULL,
    ended_at        INTEGER,              -- null: it runs, or was interrupted
    status          TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed')),
    stop_reason     TEXT,
    error           TEXT                  -- object with code and message; null: none
) STRICT;

-- What was decided to be sent, committed before it is.
CREATE TABLE intents (
    run_id          TEXT NOT NULL REFERENCES runs (run_id),
    seq             INTEGER NOT NULL,     -- counts the orders of the run from 1; part of the client order id
    client_order_id TEXT NOT NULL UNIQUE,
    step            INTEGER NOT NULL,     -- the step that led to it
    symbol          TEXT NOT NULL,
    body            TEXT NOT NULL,        -- the order
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (run_id, seq)
) STRICT;

-- What became of it, in the order in which the host learnt it.
CREATE TABLE order_events (
    id              INTEGER PRIMARY KEY,
    run_id          TEXT NOT NULL REFERENCES runs (run_id),
    client_order_id TEXT NOT NULL REFERENCES intents (client_order_id),
    kind            TEXT NOT NULL,        -- a state that the order took, or what was learnt
    source          TEXT NOT NULL,        -- reply, stream, query, fills, local
    outcome         TEXT NOT NULL,        -- of a reply; '' otherwise
    venue_order_id  TEXT NOT NULL,        -- '' while unknown
    cum_quantity    TEXT NOT NULL,
    raw_sha256      TEXT NOT NULL,        -- of the venue's answer; '' without one
    at              INTEGER NOT NULL
) STRICT;

CREATE INDEX order_events_by_run ON order_events (run_id);
CREATE INDEX order_events_by_order ON order_events (client_order_id);

-- Executions, each once.
CREATE TABLE fills (
    exchange        TEXT NOT NULL,
    account_id      TEXT NOT NULL,
    symbol          TEXT NOT NULL,
    trade_id        TEXT NOT NULL,
    run_id          TEXT NOT NULL REFERENCES runs (run_id),
    client_order_id TEXT NOT NULL REFERENCES intents (client_order_id),
    side            TEXT NOT NULL CHECK (side IN ('buy', 'sell')),
    quantity        TEXT NOT NULL,
    price           TEXT NOT NULL,
    fee             TEXT NOT NULL,
    fee_asset       TEXT NOT NULL,
    liquidity       TEXT NOT NULL CHECK (liquidity IN ('maker', 'taker')),
    at              INTEGER NOT NULL,     -- the venue's time
    PRIMARY KEY (exchange, account_id, symbol, trade_id)
) STRICT;

CREATE INDEX fills_by_run ON fills (run_id);

-- Closed candles as the strategy got them.
CREATE TABLE candles (
    run_id          TEXT NOT NULL REFERENCES runs (run_id),
    symbol          TEXT NOT NULL,
    open_time       INTEGER NOT NULL,
    o               REAL NOT NULL,
    h               REAL NOT NULL,
    l               REAL NOT NULL,
    c               REAL NOT NULL,
    v               REAL NOT NULL,
    step            INTEGER NOT NULL,
    source          TEXT NOT NULL CHECK (source IN ('warmup', 'stream', 'backfill')),
    PRIMARY KEY (run_id, symbol, open_time)
) STRICT;

-- The account at the close of each step.
CREATE TABLE equity (
    run_id          TEXT NOT NULL REFERENCES runs (run_id),
    at              INTEGER NOT NULL,
    equity          TEXT NOT NULL,
    cash            TEXT NOT NULL,
    PRIMARY KEY (run_id, at)
) STRICT;

-- Phases, alarms and risk verdicts, and for each transaction a digest of its other rows.
-- One chain runs through the whole table: prev is the hash of the entry before, of
-- whatever run.
CREATE TABLE log (
    run_id          TEXT NOT NULL REFERENCES runs (run_id),
    n               INTEGER NOT NULL,     -- counts the entries of the run from 1
    kind            TEXT NOT NULL,
    body            TEXT NOT NULL,        -- object with run_id, n, kind, at and the data
    prev            TEXT NOT NULL,        -- 64 zeros for the first entry
    hash            TEXT NOT NULL,        -- sha256 of prev, a line feed and body
    PRIMARY KEY (run_id, n)
) STRICT;
