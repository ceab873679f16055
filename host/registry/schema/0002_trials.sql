-- The daily net returns of runs, derived from their files.
CREATE TABLE daily_returns (
    run_id        TEXT PRIMARY KEY,
    source_sha256 TEXT NOT NULL, -- of what they were derived from
    content       BLOB NOT NULL  -- empty where there are none
) STRICT;

-- Which days of which market somebody is shown by a run or by the trials of a plan, and
-- which of them it keeps locked as its test. Times are Unix milliseconds.
CREATE TABLE windows (
    source_id TEXT NOT NULL,     -- a run_id or plan_id
    family_id TEXT NOT NULL,
    symbol    TEXT NOT NULL,
    locked    INTEGER NOT NULL,  -- 1 for a test, 0 for what is shown
    from_at   INTEGER NOT NULL,  -- close of the first and of the last candle
    to_at     INTEGER NOT NULL,
    command   TEXT NOT NULL,     -- what shows them
    author    TEXT NOT NULL,
    PRIMARY KEY (source_id, symbol, locked, from_at, to_at)
) STRICT;

CREATE INDEX windows_by_symbol ON windows (symbol, locked);

UPDATE registry_info SET value = '2' WHERE key = 'schema_version';
