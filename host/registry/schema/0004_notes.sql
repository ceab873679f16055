-- What people have written on runs. It is in no hash and in no bundle.
CREATE TABLE run_notes (
    run_id     TEXT PRIMARY KEY,
    version    INTEGER NOT NULL, -- counts the changes
    tags       TEXT NOT NULL,    -- a JSON list of texts
    note       TEXT NOT NULL,
    changed_at TEXT NOT NULL
) STRICT;

ALTER TABLE test_peeks ADD COLUMN reason TEXT NOT NULL DEFAULT ''; -- why, where it was asked

UPDATE registry_info SET value = '4' WHERE key = 'schema_version';
