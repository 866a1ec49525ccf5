-- Files in which Finder and Explorer note how they show a folder (._*, .DS_Store, desktop.ini, Thumbs.db). They are in no listing.
CREATE TABLE vault_dav_junk (
  user_id TEXT NOT NULL REFERENCES vault_users (id) ON DELETE CASCADE,
  -- SHA-256 of the place: the id of the connection, or "documents", and the path below it, which may be too long for an index
  place_hash TEXT NOT NULL,
  content BLOB NOT NULL,
  modified_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, place_hash)
) STRICT;
