-- The forge's runners, and the runs, jobs, tasks and logs of workflows.

-- The token that no runner could register with.
DELETE FROM instance WHERE name = 'forge_runner_registration_token';

CREATE TABLE forge_action_registration_tokens (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- instance, owner/<id> or repository/<id>
  level TEXT NOT NULL,
  token_hash TEXT NOT NULL UNIQUE,
  -- sealed; null once it is invalid
  sealed_token TEXT,
  is_active INTEGER NOT NULL CHECK (is_active IN (0, 1)),
  created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX forge_action_registration_tokens_active
  ON forge_action_registration_tokens (level) WHERE is_active = 1;

CREATE TABLE forge_action_runners (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid TEXT NOT NULL UNIQUE,
  token_hash TEXT NOT NULL,
  name TEXT NOT NULL,
  -- of an instance both are null
  owner_id INTEGER REFERENCES forge_users (id) ON DELETE CASCADE,
  repository_id INTEGER REFERENCES forge_repositories (id) ON DELETE CASCADE,
  version TEXT NOT NULL,
  -- JSON lists of texts
  labels TEXT NOT NULL,
  capabilities TEXT NOT NULL,
  is_disabled INTEGER NOT NULL CHECK (is_disabled IN (0, 1)),
  is_ephemeral INTEGER NOT NULL CHECK (is_ephemeral IN (0, 1)),
  -- 0 before the first
  last_contact_at INTEGER NOT NULL,
  last_activity_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE forge_action_run_numbers (
  repository_id INTEGER PRIMARY KEY REFERENCES forge_repositories (id) ON DELETE CASCADE,
  last_number INTEGER NOT NULL
) STRICT;

CREATE TABLE forge_action_runs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  -- null once the account is gone
  actor_id INTEGER REFERENCES forge_users (id) ON DELETE SET NULL,
  event TEXT NOT NULL,
  workflow_file TEXT NOT NULL,
  title TEXT NOT NULL,
  ref TEXT NOT NULL,
  head_sha TEXT NOT NULL,
  -- JSON
  event_payload TEXT NOT NULL,
  -- JSON of the parsed workflow; null when the file is invalid
  definition TEXT,
  status TEXT NOT NULL,
  -- why no job could run; empty otherwise
  error TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  -- empty outside of groups
  concurrency_group TEXT NOT NULL,
  -- waits for another run of its group
  is_held INTEGER NOT NULL CHECK (is_held IN (0, 1)),
  -- what made the run: a job that is repeated makes no second one
  trigger_key TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  completed_at INTEGER,
  UNIQUE (repository_id, number),
  UNIQUE (repository_id, trigger_key)
) STRICT;
CREATE INDEX forge_action_runs_group ON forge_action_runs (repository_id, concurrency_group, id);
CREATE INDEX forge_action_runs_actor ON forge_action_runs (actor_id);

CREATE TABLE forge_action_jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id INTEGER NOT NULL REFERENCES forge_action_runs (id) ON DELETE CASCADE,
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  attempt INTEGER NOT NULL,
  job_key TEXT NOT NULL,
  name TEXT NOT NULL,
  status TEXT NOT NULL,
  -- whether its matrix has been expanded and its condition holds
  is_expanded INTEGER NOT NULL CHECK (is_expanded IN (0, 1)),
  -- JSON list of texts
  labels TEXT NOT NULL,
  payload TEXT NOT NULL,
  fail_fast INTEGER NOT NULL CHECK (fail_fast IN (0, 1)),
  max_parallel INTEGER NOT NULL,
  timeout_minutes REAL NOT NULL,
  continue_on_error INTEGER NOT NULL CHECK (continue_on_error IN (0, 1)),
  -- JSON object of texts
  outputs TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  completed_at INTEGER
) STRICT;
CREATE INDEX forge_action_jobs_run ON forge_action_jobs (run_id, attempt, id);
CREATE INDEX forge_action_jobs_status ON forge_action_jobs (status, id);

CREATE TABLE forge_action_tasks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- a job is assigned once; a re-run is a new job
  job_id INTEGER NOT NULL UNIQUE REFERENCES forge_action_jobs (id) ON DELETE CASCADE,
  -- null once the runner is gone
  runner_id INTEGER REFERENCES forge_action_runners (id) ON DELETE SET NULL,
  runner_name TEXT NOT NULL,
  status TEXT NOT NULL,
  log_rows INTEGER NOT NULL,
  is_log_sealed INTEGER NOT NULL CHECK (is_log_sealed IN (0, 1)),
  started_at INTEGER NOT NULL,
  -- when the runner last reported
  reported_at INTEGER NOT NULL,
  completed_at INTEGER
) STRICT;
CREATE INDEX forge_action_tasks_runner ON forge_action_tasks (runner_id);
CREATE INDEX forge_action_tasks_status ON forge_action_tasks (status, reported_at);

CREATE TABLE forge_action_steps (
  task_id INTEGER NOT NULL REFERENCES forge_action_tasks (id) ON DELETE CASCADE,
  -- from 0
  number INTEGER NOT NULL,
  name TEXT NOT NULL,
  status TEXT NOT NULL,
  started_at INTEGER,
  completed_at INTEGER,
  PRIMARY KEY (task_id, number)
) STRICT;

-- Rows of a log, each a time and a text, one to a line.
CREATE TABLE forge_action_log_chunks (
  task_id INTEGER NOT NULL REFERENCES forge_action_tasks (id) ON DELETE CASCADE,
  first_row INTEGER NOT NULL,
  row_count INTEGER NOT NULL,
  -- compressed by gzip
  content BLOB NOT NULL,
  PRIMARY KEY (task_id, first_row)
) STRICT;

-- Grows whenever there may be work for a runner.
CREATE TABLE forge_action_versions (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  tasks_version INTEGER NOT NULL
) STRICT;
INSERT INTO forge_action_versions (id, tasks_version) VALUES (1, 1);
