-- Times are text like 2024-01-01T00:00:00.000Z, hashes lower-case hex.

-- Which run answers a request.
CREATE TABLE request_runs (
    request_hash TEXT PRIMARY KEY,
    run_id       TEXT NOT NULL,    -- for runs of the service: the first with this hash
    kind         TEXT NOT NULL,    -- run, trial, falsification, service, legacy
    status       TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed')),
    attempt      INTEGER NOT NULL, -- counts from 1
    owner        TEXT,             -- who executes it; null when nobody holds a lease
    lease_until  TEXT,             -- until when the owner may be silent; null: no lease
    created_at   TEXT NOT NULL,
    updated_at   TEXT NOT NULL
) STRICT;

-- Every run with its metadata.
CREATE TABLE run_metadata (
    run_id       TEXT PRIMARY KEY,
    request_hash TEXT NOT NULL,
    slug         TEXT NOT NULL,    -- the strategy's project
    family_id    TEXT NOT NULL,
    kind         TEXT NOT NULL,
    status       TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed')),
    trial_key    TEXT,             -- equal for runs that try the same thing
    plan_id      TEXT,             -- of a trial
    trial_index  INTEGER,          -- of a trial
    completed_at TEXT,             -- null while running
    payload      BLOB NOT NULL     -- the bytes of metadata.json
) STRICT;

CREATE INDEX run_metadata_by_time ON run_metadata (completed_at, run_id);
CREATE INDEX run_metadata_by_family ON run_metadata (family_id, trial_key);
CREATE INDEX run_metadata_by_status ON run_metadata (status, kind);

-- Registered searches.
CREATE TABLE plans (
    plan_hash     TEXT PRIMARY KEY,
    plan_id       TEXT NOT NULL UNIQUE,
    slug          TEXT NOT NULL,
    family_id     TEXT NOT NULL,
    author        TEXT NOT NULL,
    registered_at TEXT NOT NULL,
    amends        TEXT,            -- hash of the plan that this one changes
    payload       BLOB NOT NULL    -- the plan as canonical JSON
) STRICT;

-- Every look at locked test metrics.
CREATE TABLE test_peeks (
    id        INTEGER PRIMARY KEY,
    at        TEXT NOT NULL,
    run_id    TEXT NOT NULL,
    family_id TEXT NOT NULL,
    command   TEXT NOT NULL,       -- what was called
    author    TEXT NOT NULL
) STRICT;

CREATE TABLE registry_info (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

INSERT INTO registry_info (key, value) VALUES ('schema_version', '1');
