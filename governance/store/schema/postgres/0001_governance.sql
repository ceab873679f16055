-- The truth: what was said and signed. Nothing here is ever changed or removed. The columns are those of
-- the schema for SQLite, where their meaning is written. Text is compared by its bytes.

CREATE TABLE meta (
  key   TEXT COLLATE "C" PRIMARY KEY,
  value TEXT NOT NULL
);

CREATE TABLE ledger (
  seq            BIGINT PRIMARY KEY,
  statement_type TEXT COLLATE "C" NOT NULL,
  subject_type   TEXT COLLATE "C" NOT NULL,
  subject_id     TEXT COLLATE "C" NOT NULL,
  payload        BYTEA NOT NULL,
  signature      BYTEA NOT NULL,
  leaf_hash      BYTEA NOT NULL,
  recorded_at    TEXT NOT NULL
);

CREATE TABLE tree_nodes (
  idx  BIGINT PRIMARY KEY,
  hash BYTEA NOT NULL
);

CREATE TABLE checkpoints (
  size       BIGINT PRIMARY KEY,
  root       BYTEA NOT NULL,
  note       TEXT NOT NULL,
  created_at TEXT NOT NULL
);

CREATE TABLE submissions (
  file_sha256           TEXT COLLATE "C" PRIMARY KEY,
  candidate_revision_id TEXT COLLATE "C" NOT NULL,
  seq                   BIGINT NOT NULL UNIQUE REFERENCES ledger (seq),
  body                  BYTEA NOT NULL
);
CREATE INDEX submissions_by_revision ON submissions (candidate_revision_id, seq);

CREATE TABLE attestations (
  pae_sha256 TEXT COLLATE "C" NOT NULL,
  key_id     TEXT COLLATE "C" NOT NULL,
  seq        BIGINT NOT NULL UNIQUE REFERENCES ledger (seq),
  envelope   TEXT NOT NULL,
  PRIMARY KEY (pae_sha256, key_id)
);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'the log is never changed'; END $$;
CREATE TRIGGER meta_stays         BEFORE UPDATE OR DELETE OR TRUNCATE ON meta         EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_stays       BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger       EXECUTE FUNCTION refuse_change();
CREATE TRIGGER tree_nodes_stay    BEFORE UPDATE OR DELETE OR TRUNCATE ON tree_nodes   EXECUTE FUNCTION refuse_change();
CREATE TRIGGER checkpoints_stay   BEFORE UPDATE OR DELETE OR TRUNCATE ON checkpoints  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER submissions_stay   BEFORE UPDATE OR DELETE OR TRUNCATE ON submissions  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER attestations_stay  BEFORE UPDATE OR DELETE OR TRUNCATE ON attestations EXECUTE FUNCTION refuse_change();

-- The projections: what the log comes to. `governance rebuild` makes them again.

CREATE TABLE facts (
  seq                   BIGINT NOT NULL,
  ord                   BIGINT NOT NULL,
  fact_id               TEXT NOT NULL,
  type                  TEXT NOT NULL,
  candidate_revision_id TEXT NOT NULL,
  run_id                TEXT NOT NULL,
  body                  TEXT NOT NULL,
  PRIMARY KEY (seq, ord)
);

CREATE TABLE revisions (
  candidate_revision_id TEXT COLLATE "C" PRIMARY KEY,
  candidate_id          TEXT NOT NULL,
  family_id             TEXT NOT NULL,
  strategy_name         TEXT NOT NULL,
  deployable_id         TEXT NOT NULL,
  first_seq             BIGINT NOT NULL,
  newest_seq            BIGINT NOT NULL
);

CREATE TABLE promotion_state (
  candidate_revision_id TEXT COLLATE "C" PRIMARY KEY,
  stage                 TEXT NOT NULL,
  stage_status          TEXT NOT NULL
);

CREATE TABLE projection (
  name  TEXT COLLATE "C" PRIMARY KEY,
  value TEXT NOT NULL
);

-- Who writes. The epoch counts the writers there have been: a transaction of an earlier one is refused.

CREATE TABLE writer (
  one     BIGINT PRIMARY KEY CHECK (one = 1),
  epoch   BIGINT NOT NULL,
  address TEXT NOT NULL  -- where the plane answers
);
INSERT INTO writer VALUES (1, 0, '');
