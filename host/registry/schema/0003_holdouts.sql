-- Candles and the market that they are of, whatever its name.
CREATE TABLE market_candles (
    sha256    TEXT PRIMARY KEY,  -- of the candle file
    market    TEXT NOT NULL,     -- equal for candles of one market
    exchange  TEXT NOT NULL,     -- under which they were stored first
    symbol    TEXT NOT NULL,
    timeframe TEXT NOT NULL,
    step_ms   INTEGER NOT NULL,  -- about the length of a candle
    rows      INTEGER NOT NULL,
    from_at   INTEGER NOT NULL,  -- open of the first candle and close of the last
    to_at     INTEGER NOT NULL,
    added_at  TEXT NOT NULL
) STRICT;

CREATE INDEX market_candles_by_market ON market_candles (market);

-- From when on the candles of a market are held out; the newest row of a market is in force.
CREATE TABLE holdouts (
    id      INTEGER PRIMARY KEY,
    market  TEXT NOT NULL,
    from_at INTEGER NOT NULL,    -- closes after this are held out
    at      TEXT NOT NULL,
    author  TEXT NOT NULL
) STRICT;

CREATE INDEX holdouts_by_market ON holdouts (market, id);

-- Every look at held out candles: one for each run or plan and command that shows some.
CREATE TABLE looks (
    id        INTEGER PRIMARY KEY,
    at        TEXT NOT NULL,
    market    TEXT NOT NULL,
    source_id TEXT NOT NULL,     -- a run_id or plan_id
    from_at   INTEGER NOT NULL,  -- the held out days that it shows
    to_at     INTEGER NOT NULL,
    command   TEXT NOT NULL,
    author    TEXT NOT NULL,
    UNIQUE (market, source_id, command)
) STRICT;

ALTER TABLE windows ADD COLUMN dataset TEXT NOT NULL DEFAULT ''; -- SHA-256 of the candle file

UPDATE windows SET dataset = COALESCE((
    SELECT json_extract(d.value, '$.sha256')
    FROM run_metadata m, json_each(CASE WHEN json_valid(CAST(m.payload AS TEXT)) THEN CAST(m.payload AS TEXT) ELSE '{}' END,
        '$.data') d
    WHERE m.run_id = windows.source_id AND json_extract(d.value, '$.symbol') = windows.symbol LIMIT 1
), (
    SELECT json_extract(d.value, '$.sha256')
    FROM run_metadata m, json_each(CASE WHEN json_valid(CAST(m.payload AS TEXT)) THEN CAST(m.payload AS TEXT) ELSE '{}' END,
        '$.data') d
    WHERE m.plan_id = windows.source_id AND json_extract(d.value, '$.symbol') = windows.symbol LIMIT 1
), '');

CREATE INDEX windows_by_dataset ON windows (dataset, locked);

UPDATE registry_info SET value = '3' WHERE key = 'schema_version';
