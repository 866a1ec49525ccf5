-- WebDAV: locks of clients, and properties that clients set.

CREATE TABLE vault_dav_locks (
  -- the lock token, an address of the form urn:uuid:…
  token TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES vault_users (id) ON DELETE CASCADE,
  -- the id of the connection, or "documents", and the path below it
  place TEXT NOT NULL,
  scope TEXT NOT NULL CHECK (scope IN ('exclusive', 'shared')),
  -- 1 for a lock of a folder with everything below it
  is_deep INTEGER NOT NULL CHECK (is_deep IN (0, 1)),
  -- XML that the client gave: who holds the lock
  owner TEXT NOT NULL,
  seconds INTEGER NOT NULL CHECK (seconds > 0),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX vault_dav_locks_user ON vault_dav_locks (user_id, expires_at);
CREATE INDEX vault_dav_locks_expiry ON vault_dav_locks (expires_at);

-- Properties that only clients know the meaning of: of an item of a connection, or of a document.
CREATE TABLE vault_dav_properties (
  id TEXT PRIMARY KEY,
  item_id TEXT REFERENCES vault_items (id) ON DELETE CASCADE,
  document_id TEXT REFERENCES vault_documents (id) ON DELETE CASCADE,
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  -- XML: the whole element
  value TEXT NOT NULL,
  CHECK ((item_id IS NULL) <> (document_id IS NULL))
) STRICT;

CREATE UNIQUE INDEX vault_dav_properties_item ON vault_dav_properties (item_id, namespace, name) WHERE item_id IS NOT NULL;
CREATE UNIQUE INDEX vault_dav_properties_document ON vault_dav_properties (document_id, namespace, name)
  WHERE document_id IS NOT NULL;
