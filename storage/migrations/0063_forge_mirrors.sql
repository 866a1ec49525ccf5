-- Repositories that come from elsewhere: where from, mirrors in both directions, and imports of issues and releases.
ALTER TABLE forge_repositories ADD COLUMN original_url TEXT NOT NULL DEFAULT '';
ALTER TABLE forge_repositories ADD COLUMN is_mirror INTEGER NOT NULL DEFAULT 0;
-- 0: only on request
ALTER TABLE forge_repositories ADD COLUMN mirror_interval_seconds INTEGER NOT NULL DEFAULT 0;
ALTER TABLE forge_repositories ADD COLUMN mirror_updated_at INTEGER;
ALTER TABLE forge_repositories ADD COLUMN mirror_synced_at INTEGER;

-- Authors at the place from which issues were imported; empty for issues that were written here.
ALTER TABLE forge_issues ADD COLUMN original_author TEXT NOT NULL DEFAULT '';
ALTER TABLE forge_issue_comments ADD COLUMN original_author TEXT NOT NULL DEFAULT '';

CREATE TABLE forge_mirrors (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  direction TEXT NOT NULL CHECK (direction IN ('pull', 'push')),
  name TEXT NOT NULL UNIQUE,
  -- without credentials
  address TEXT NOT NULL,
  -- user name and password, sealed
  sealed_credentials TEXT NOT NULL,
  -- 0: only on request
  interval_seconds INTEGER NOT NULL,
  sync_on_commit INTEGER NOT NULL CHECK (sync_on_commit IN (0, 1)),
  -- null: only on request
  next_at INTEGER,
  -- attempts that failed since the last one that did not
  failures INTEGER NOT NULL,
  last_error TEXT NOT NULL,
  synced_at INTEGER,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_mirrors_repository ON forge_mirrors (repository_id, direction, id);
CREATE INDEX forge_mirrors_due ON forge_mirrors (next_at);

CREATE TABLE forge_imports (
  repository_id INTEGER NOT NULL PRIMARY KEY REFERENCES forge_repositories (id) ON DELETE CASCADE,
  -- null once the account is gone
  actor_id INTEGER REFERENCES forge_users (id) ON DELETE SET NULL,
  service TEXT NOT NULL,
  address TEXT NOT NULL,
  -- user name, password and token, sealed; null when the import has ended
  sealed_credentials TEXT,
  parts TEXT NOT NULL,
  state TEXT NOT NULL,
  -- where the import goes on, and how much it has brought
  progress TEXT NOT NULL,
  error TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_imports_actor ON forge_imports (actor_id);
