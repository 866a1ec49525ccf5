-- Work that outlives a request. A finished job is deleted; one that failed for good stays as `dead`.
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  -- JSON.
  payload TEXT NOT NULL,
  -- At most one job of a kind and key waits, and at most one runs.
  key TEXT,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'dead')),
  run_at INTEGER NOT NULL,
  -- Claims so far, the running one included.
  attempts INTEGER NOT NULL,
  lease_owner TEXT,
  leased_until INTEGER,
  last_error TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  CHECK ((state = 'running') = (lease_owner IS NOT NULL)),
  CHECK ((state = 'running') = (leased_until IS NOT NULL))
) STRICT;

CREATE UNIQUE INDEX jobs_waiting_key ON jobs (kind, key) WHERE state = 'waiting' AND key IS NOT NULL;
CREATE UNIQUE INDEX jobs_running_key ON jobs (kind, key) WHERE state = 'running' AND key IS NOT NULL;
CREATE INDEX jobs_due ON jobs (kind, run_at, id) WHERE state = 'waiting';
CREATE INDEX jobs_running ON jobs (leased_until) WHERE state = 'running';
CREATE INDEX jobs_dead ON jobs (updated_at) WHERE state = 'dead';

-- Fixed windows: `points` used until `expires_at`. Keys are hashes.
CREATE TABLE rate_limits (
  key TEXT NOT NULL PRIMARY KEY,
  points INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

-- Single facts about this instance, by name.
CREATE TABLE instance (
  name TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
