-- Results of completed uploads, for clients that lost the response and repeat the request.

CREATE TABLE vault_upload_results (
  -- of the upload, whose own row is gone
  upload_id TEXT PRIMARY KEY,
  connection_id TEXT NOT NULL REFERENCES vault_connections (id) ON DELETE CASCADE,
  -- of the bytes; another hash is another request
  sha256 TEXT NOT NULL,
  -- the stored file; NULL when the storage has it and recording it failed
  provider_item_id TEXT,
  name TEXT NOT NULL,
  -- the folder; NULL is the root
  parent_ref TEXT,
  -- in bytes
  size INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX vault_upload_results_connection ON vault_upload_results (connection_id);
CREATE INDEX vault_upload_results_expiry ON vault_upload_results (expires_at);
