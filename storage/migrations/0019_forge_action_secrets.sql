-- Secrets and variables of workflows, tokens of tasks, re-runs, job concurrency, disabled workflows and schedules.

CREATE TABLE forge_action_secrets (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- instance, owner/<id> or repository/<id>
  level TEXT NOT NULL,
  -- of an instance both are null
  owner_id INTEGER REFERENCES forge_users (id) ON DELETE CASCADE,
  repository_id INTEGER REFERENCES forge_repositories (id) ON DELETE CASCADE,
  -- in upper case
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  -- sealed
  sealed_value TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (level, name)
) STRICT;
CREATE INDEX forge_action_secrets_owner ON forge_action_secrets (owner_id);
CREATE INDEX forge_action_secrets_repository ON forge_action_secrets (repository_id);

CREATE TABLE forge_action_variables (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- instance, owner/<id> or repository/<id>
  level TEXT NOT NULL,
  owner_id INTEGER REFERENCES forge_users (id) ON DELETE CASCADE,
  repository_id INTEGER REFERENCES forge_repositories (id) ON DELETE CASCADE,
  -- in upper case
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  value TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (level, name)
) STRICT;
CREATE INDEX forge_action_variables_owner ON forge_action_variables (owner_id);
CREATE INDEX forge_action_variables_repository ON forge_action_variables (repository_id);

-- SHA-256 of the task's token, in hex; null once the task has ended
ALTER TABLE forge_action_tasks ADD COLUMN token_hash TEXT;
-- JSON object of levels by unit
ALTER TABLE forge_action_tasks ADD COLUMN token_permissions TEXT NOT NULL DEFAULT '{}';
-- sealed JSON list of the texts that the log must not show; null once the log has ended
ALTER TABLE forge_action_tasks ADD COLUMN sealed_masks TEXT;
-- bytes of the log before compression
ALTER TABLE forge_action_tasks ADD COLUMN log_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE forge_action_tasks ADD COLUMN cancelling_at INTEGER;
CREATE UNIQUE INDEX forge_action_tasks_token ON forge_action_tasks (token_hash);

-- The job of an earlier attempt whose result and log this one shows.
ALTER TABLE forge_action_jobs ADD COLUMN original_job_id INTEGER;
-- empty outside of groups
ALTER TABLE forge_action_jobs ADD COLUMN concurrency_group TEXT NOT NULL DEFAULT '';
ALTER TABLE forge_action_jobs ADD COLUMN cancels_group INTEGER NOT NULL DEFAULT 0;
CREATE INDEX forge_action_jobs_group ON forge_action_jobs (repository_id, concurrency_group, status);
CREATE INDEX forge_action_jobs_repository ON forge_action_jobs (repository_id, id);

-- who started the last attempt; null for the actor of the run
ALTER TABLE forge_action_runs ADD COLUMN trigger_actor_id INTEGER REFERENCES forge_users (id) ON DELETE SET NULL;
CREATE INDEX forge_action_runs_repository ON forge_action_runs (repository_id, id);
CREATE INDEX forge_action_runs_trigger_actor ON forge_action_runs (trigger_actor_id);

CREATE TABLE forge_action_disabled_workflows (
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  workflow_file TEXT NOT NULL,
  disabled_at INTEGER NOT NULL,
  PRIMARY KEY (repository_id, workflow_file)
) STRICT;

CREATE TABLE forge_action_schedules (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  workflow_file TEXT NOT NULL,
  cron TEXT NOT NULL,
  next_at INTEGER NOT NULL,
  UNIQUE (repository_id, workflow_file, cron)
) STRICT;
CREATE INDEX forge_action_schedules_due ON forge_action_schedules (next_at);
