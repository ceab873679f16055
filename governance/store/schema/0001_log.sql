-- The truth: what was said and signed. Nothing here is ever changed or removed.

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,      -- origin, statement_key (PEM), log_key (verifier key)
  value TEXT NOT NULL
) STRICT;

CREATE TABLE ledger (
  seq            INTEGER PRIMARY KEY,  -- place in the log, from 0
  statement_type TEXT NOT NULL,        -- predicate type of the payload
  subject_type   TEXT NOT NULL,        -- candidate_revision, or log
  subject_id     TEXT NOT NULL,        -- candidate_revision_id, or the origin
  payload        BLOB NOT NULL,        -- in-toto statement, canonical JSON
  signature      BLOB NOT NULL,        -- of its PAE by the statement key, ASN.1 DER
  leaf_hash      BLOB NOT NULL,        -- RFC 6962 hash of its leaf
  recorded_at    TEXT NOT NULL         -- RFC 3339, as in the payload
) STRICT;

CREATE TABLE tree_nodes (
  idx  INTEGER PRIMARY KEY,    -- stored hash index of golang.org/x/mod/sumdb/tlog
  hash BLOB NOT NULL
) STRICT;

CREATE TABLE checkpoints (
  size       INTEGER PRIMARY KEY,  -- entries that the checkpoint covers
  root       BLOB NOT NULL,
  note       TEXT NOT NULL,        -- signed by the log key
  created_at TEXT NOT NULL         -- recorded_at of its last entry
) STRICT;

CREATE TABLE submissions (
  file_sha256           TEXT PRIMARY KEY,
  candidate_revision_id TEXT NOT NULL,
  seq                   INTEGER NOT NULL UNIQUE REFERENCES ledger (seq),  -- its seal, part 1
  body                  BLOB NOT NULL                                     -- candidate_bundle.json
) STRICT;
CREATE INDEX submissions_by_revision ON submissions (candidate_revision_id, seq);

CREATE TABLE attestations (
  pae_sha256 TEXT NOT NULL,
  key_id     TEXT NOT NULL,
  seq        INTEGER NOT NULL UNIQUE REFERENCES ledger (seq),  -- where it is recorded
  envelope   TEXT NOT NULL,                                    -- DSSE with this key's signature only
  PRIMARY KEY (pae_sha256, key_id)
) STRICT;

CREATE TRIGGER meta_keeps         BEFORE UPDATE ON meta         BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;
CREATE TRIGGER meta_stays         BEFORE DELETE ON meta         BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;
CREATE TRIGGER ledger_keeps       BEFORE UPDATE ON ledger       BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;
CREATE TRIGGER ledger_stays       BEFORE DELETE ON ledger       BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;
CREATE TRIGGER tree_nodes_keep    BEFORE UPDATE ON tree_nodes   BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;
CREATE TRIGGER tree_nodes_stay    BEFORE DELETE ON tree_nodes   BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;
CREATE TRIGGER checkpoints_keep   BEFORE UPDATE ON checkpoints  BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;
CREATE TRIGGER checkpoints_stay   BEFORE DELETE ON checkpoints  BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;
CREATE TRIGGER submissions_keep   BEFORE UPDATE ON submissions  BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;
CREATE TRIGGER submissions_stay   BEFORE DELETE ON submissions  BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;
CREATE TRIGGER attestations_keep  BEFORE UPDATE ON attestations BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;
CREATE TRIGGER attestations_stay  BEFORE DELETE ON attestations BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;

-- REPLACE deletes without the triggers above.
CREATE TRIGGER meta_once BEFORE INSERT ON meta WHEN EXISTS (SELECT 1 FROM meta WHERE key = NEW.key) BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;
CREATE TRIGGER ledger_once BEFORE INSERT ON ledger WHEN EXISTS (SELECT 1 FROM ledger WHERE seq = NEW.seq) BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;
CREATE TRIGGER tree_nodes_once BEFORE INSERT ON tree_nodes WHEN EXISTS (SELECT 1 FROM tree_nodes WHERE idx = NEW.idx) BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;
CREATE TRIGGER checkpoints_once BEFORE INSERT ON checkpoints WHEN EXISTS (SELECT 1 FROM checkpoints WHERE size = NEW.size) BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;
CREATE TRIGGER submissions_once BEFORE INSERT ON submissions WHEN EXISTS (SELECT 1 FROM submissions WHERE file_sha256 = NEW.file_sha256 OR seq = NEW.seq) BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;
CREATE TRIGGER attestations_once BEFORE INSERT ON attestations WHEN EXISTS (SELECT 1 FROM attestations WHERE pae_sha256 = NEW.pae_sha256 AND key_id = NEW.key_id OR seq = NEW.seq) BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;

-- The projections: what the log comes to. `governance rebuild` makes them again.

CREATE TABLE facts (
  seq                   INTEGER NOT NULL,  -- of the entry
  ord                   INTEGER NOT NULL,  -- place among the facts of the entry
  fact_id               TEXT NOT NULL,
  type                  TEXT NOT NULL,
  candidate_revision_id TEXT NOT NULL,     -- '' for facts about the log
  run_id                TEXT NOT NULL,     -- '' for facts that are not about one run
  body                  TEXT NOT NULL,     -- canonical JSON
  PRIMARY KEY (seq, ord)
) STRICT, WITHOUT ROWID;

CREATE TABLE revisions (
  candidate_revision_id TEXT PRIMARY KEY,
  candidate_id          TEXT NOT NULL,
  family_id             TEXT NOT NULL,
  strategy_name         TEXT NOT NULL,
  deployable_id         TEXT NOT NULL,
  first_seq             INTEGER NOT NULL,  -- of its first seal
  newest_seq            INTEGER NOT NULL   -- of its newest seal
) STRICT, WITHOUT ROWID;

CREATE TABLE promotion_state (
  candidate_revision_id TEXT PRIMARY KEY,
  stage                 TEXT NOT NULL,
  stage_status          TEXT NOT NULL      -- as decided, without what time derives
) STRICT, WITHOUT ROWID;

CREATE TABLE projection (
  name TEXT PRIMARY KEY,       -- log_size, policy_digest, trust_digest
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
