-- Uploads to connected storage that are sent in parts; their bytes are files of the daemon that has the row.

CREATE TABLE vault_uploads (
  id TEXT PRIMARY KEY,
  connection_id TEXT NOT NULL REFERENCES vault_connections (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL REFERENCES vault_users (id) ON DELETE CASCADE,
  -- the folder, as the provider names it
  parent_ref TEXT NOT NULL,
  name TEXT NOT NULL,
  content_type TEXT,
  -- of the whole file, in bytes
  size INTEGER NOT NULL,
  -- tells one version of the client's file from another
  fingerprint TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX vault_uploads_user ON vault_uploads (user_id, connection_id);
CREATE INDEX vault_uploads_connection ON vault_uploads (connection_id);
