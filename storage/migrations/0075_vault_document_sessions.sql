-- Documents that are sent in parts. Their bytes are collected in a file below "uploads" with the name of the id, which becomes the
-- document's.
CREATE TABLE vault_document_sessions (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES vault_users (id) ON DELETE CASCADE,
  filename TEXT NOT NULL,
  content_type TEXT NOT NULL,
  -- of the whole file, in bytes
  size_bytes INTEGER NOT NULL,
  -- tells one version of the client's file from another
  fingerprint TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX vault_document_sessions_user ON vault_document_sessions (user_id);
