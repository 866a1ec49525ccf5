-- Hooks of the forge, what they delivered, and when scheduled tasks ran.

CREATE TABLE forge_hooks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- 'system' fires for everything, 'default' is copied into each new repository, 'repository' is such a copy
  scope TEXT NOT NULL CHECK (scope IN ('system', 'default', 'repository')),
  -- Null for a copy whose repository is gone: it never fires again, but what waits is still delivered.
  repository_id INTEGER REFERENCES forge_repositories (id) ON DELETE SET NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  -- Sealed JSON: address, secret and authorization header. Addresses of chat services are passwords too.
  sealed_target TEXT NOT NULL,
  content_type TEXT NOT NULL CHECK (content_type IN ('json', 'form')),
  -- JSON: a list of event words
  events TEXT NOT NULL,
  branch_filter TEXT NOT NULL,
  -- JSON: channel, username, icon_url, color; null unless the kind is slack
  slack TEXT,
  is_active INTEGER NOT NULL CHECK (is_active IN (0, 1)),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  CHECK (repository_id IS NULL OR scope = 'repository')
) STRICT;
CREATE INDEX forge_hooks_scope ON forge_hooks (scope, id);
CREATE INDEX forge_hooks_repository ON forge_hooks (repository_id);

CREATE TABLE forge_hook_deliveries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  hook_id INTEGER NOT NULL REFERENCES forge_hooks (id) ON DELETE CASCADE,
  -- The same for every try, so that a receiver can tell a repetition.
  uuid TEXT NOT NULL UNIQUE,
  event TEXT NOT NULL,
  -- JSON text as it is signed and sent by hooks of the kind gitea; chat kinds are rendered from it.
  payload TEXT NOT NULL,
  is_redelivery INTEGER NOT NULL CHECK (is_redelivery IN (0, 1)),
  state TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
  attempts INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  -- Of the newest try.
  attempted_at INTEGER,
  next_attempt_at INTEGER,
  duration_ms INTEGER,
  -- JSON
  request_headers TEXT,
  response_status INTEGER,
  -- JSON
  response_headers TEXT,
  -- The beginning of it.
  response_body TEXT,
  error TEXT
) STRICT;
CREATE INDEX forge_hook_deliveries_hook ON forge_hook_deliveries (hook_id, id);
CREATE INDEX forge_hook_deliveries_state ON forge_hook_deliveries (hook_id, state, id);
CREATE INDEX forge_hook_deliveries_old ON forge_hook_deliveries (created_at) WHERE state <> 'waiting';

-- How many deliveries of each state a hook has, so that a list need not count them.
CREATE TABLE forge_hook_totals (
  hook_id INTEGER NOT NULL REFERENCES forge_hooks (id) ON DELETE CASCADE,
  state TEXT NOT NULL,
  deliveries INTEGER NOT NULL,
  PRIMARY KEY (hook_id, state)
) STRICT;

CREATE TABLE forge_cron_tasks (
  name TEXT NOT NULL PRIMARY KEY,
  -- Runs begun so far, and when the newest began.
  exec_times INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  -- Null while it runs.
  finished_at INTEGER,
  -- Why the newest finished run failed.
  error TEXT
) STRICT;
