-- The vault's cloud side: connections, what is known of their items and folders, cached bytes, sign-ins under way.

CREATE TABLE vault_connections (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES vault_users (id) ON DELETE CASCADE,
  provider TEXT NOT NULL,
  display_name TEXT NOT NULL,
  -- JSON object of what is not secret
  settings TEXT NOT NULL,
  -- sealed JSON object
  credentials TEXT NOT NULL,
  -- JSON object: what probing the storage found out; null to probe anew
  facts TEXT,
  status TEXT NOT NULL CHECK (status IN ('connected', 'reauth_required', 'offline')),
  -- grows when settings or credentials are replaced: what was opened with the earlier ones is closed
  generation INTEGER NOT NULL,
  quota_used_bytes INTEGER,
  quota_total_bytes INTEGER,
  created_at INTEGER NOT NULL,
  last_checked_at INTEGER
) STRICT;

CREATE INDEX vault_connections_user ON vault_connections (user_id, created_at, id);

CREATE TABLE vault_items (
  id TEXT PRIMARY KEY,
  connection_id TEXT NOT NULL REFERENCES vault_connections (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  -- the id, or of one that is too long for an index its hash; then the id is in long_id
  provider_item_id TEXT NOT NULL,
  long_id TEXT,
  name TEXT NOT NULL,
  -- UTF-8 of the kind and the name without case: bytes sort alike in every database
  sort_key BLOB NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('file', 'folder')),
  -- empty for the root; kept like the item's own id
  parent_ref TEXT NOT NULL,
  long_parent_ref TEXT,
  content_type TEXT,
  provider_size INTEGER,
  modified_at INTEGER,
  etag TEXT,
  version TEXT,
  deleted_at INTEGER,
  analysis_status TEXT NOT NULL CHECK (analysis_status IN ('none', 'pending', 'processing', 'ready', 'failed', 'unsupported')),
  semantic_index_status TEXT NOT NULL CHECK (semantic_index_status IN ('none', 'pending', 'ready', 'failed', 'stale')),
  extracted_text TEXT,
  -- JSON array of names
  topics TEXT NOT NULL,
  unsupported_analysis_reason TEXT,
  UNIQUE (connection_id, provider_item_id)
) STRICT;

CREATE INDEX vault_items_folder ON vault_items (connection_id, parent_ref, sort_key, id) WHERE deleted_at IS NULL;

CREATE TABLE vault_folders (
  connection_id TEXT NOT NULL REFERENCES vault_connections (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  -- empty for the root; of an id that is too long for an index its hash
  parent_ref TEXT NOT NULL,
  refresh_state TEXT NOT NULL CHECK (refresh_state IN ('never', 'fresh', 'warning', 'failed')),
  error_code TEXT,
  error_message TEXT,
  listed_at INTEGER,
  -- grows with every change made through the service: a listing that began before is out of date when it ends
  mutations INTEGER NOT NULL,
  PRIMARY KEY (connection_id, parent_ref)
) STRICT;

CREATE TABLE vault_cache_entries (
  -- the cache folder that holds the file: each machine that shares the database has its own
  store TEXT NOT NULL,
  -- names the file: made of the user, the connection and the version of the item
  cache_key TEXT NOT NULL,
  user_id TEXT NOT NULL REFERENCES vault_users (id) ON DELETE CASCADE,
  connection_id TEXT NOT NULL REFERENCES vault_connections (id) ON DELETE CASCADE,
  size INTEGER NOT NULL,
  -- what the bytes are checked by
  hash TEXT NOT NULL,
  last_used_at INTEGER NOT NULL,
  PRIMARY KEY (store, cache_key)
) STRICT;

CREATE INDEX vault_cache_entries_user ON vault_cache_entries (store, user_id, last_used_at, size);
CREATE INDEX vault_cache_entries_connection ON vault_cache_entries (connection_id);

CREATE TABLE vault_analysis_settings (
  user_id TEXT PRIMARY KEY REFERENCES vault_users (id) ON DELETE CASCADE,
  byte_cache_limit_bytes INTEGER NOT NULL CHECK (byte_cache_limit_bytes >= 0),
  auto_analyze INTEGER NOT NULL CHECK (auto_analyze IN (0, 1)),
  max_analyze_bytes INTEGER NOT NULL CHECK (max_analyze_bytes >= 0)
) STRICT;

-- Sign-ins at a provider's page that wait for the browser to come back.
CREATE TABLE vault_oauth_states (
  -- SHA-256 of the state: reading the table helps nobody to finish a sign-in
  state_hash TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES vault_users (id) ON DELETE CASCADE,
  provider TEXT NOT NULL,
  -- the connection that is connected anew; null for a new one
  connection_id TEXT REFERENCES vault_connections (id) ON DELETE CASCADE,
  display_name TEXT,
  -- sealed
  code_verifier TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX vault_oauth_states_expiry ON vault_oauth_states (expires_at);
