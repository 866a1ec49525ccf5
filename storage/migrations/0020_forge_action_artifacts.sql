-- Files that jobs keep: artifacts, and the blocks of those that are being uploaded.

CREATE TABLE forge_action_artifacts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  run_id INTEGER NOT NULL REFERENCES forge_action_runs (id) ON DELETE CASCADE,
  attempt INTEGER NOT NULL,
  -- the task that uploads it
  task_id INTEGER NOT NULL REFERENCES forge_action_tasks (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  content_type TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'ready', 'expired')),
  -- in bytes; 0 while pending
  size INTEGER NOT NULL,
  -- null unless ready
  object_sha256 TEXT,
  expires_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX forge_action_artifacts_name
  ON forge_action_artifacts (run_id, attempt, name) WHERE state = 'ready';
CREATE INDEX forge_action_artifacts_run ON forge_action_artifacts (run_id, id);
CREATE INDEX forge_action_artifacts_repository ON forge_action_artifacts (repository_id, id);
CREATE INDEX forge_action_artifacts_task ON forge_action_artifacts (task_id);
CREATE INDEX forge_action_artifacts_object ON forge_action_artifacts (object_sha256);
CREATE INDEX forge_action_artifacts_expiry ON forge_action_artifacts (state, expires_at);

CREATE TABLE forge_action_artifact_blocks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  artifact_id INTEGER NOT NULL REFERENCES forge_action_artifacts (id) ON DELETE CASCADE,
  -- as the client names it
  block_id TEXT NOT NULL,
  -- from 0; null until a block list names it
  position INTEGER,
  size INTEGER NOT NULL,
  object_sha256 TEXT NOT NULL,
  UNIQUE (artifact_id, block_id)
) STRICT;
CREATE INDEX forge_action_artifact_blocks_object ON forge_action_artifact_blocks (object_sha256);
