-- Keys that open one repository over SSH, without an account. One key may serve several repositories.
CREATE TABLE forge_deploy_keys (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- The same for all rows of one fingerprint: the id of the first of them.
  key_id INTEGER NOT NULL,
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  title TEXT NOT NULL,
  content TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  is_read_only INTEGER NOT NULL CHECK (is_read_only IN (0, 1)),
  created_at INTEGER NOT NULL,
  UNIQUE (repository_id, title),
  UNIQUE (repository_id, fingerprint)
) STRICT;
CREATE INDEX forge_deploy_keys_fingerprint ON forge_deploy_keys (fingerprint);
