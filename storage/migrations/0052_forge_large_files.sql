-- Files of Git LFS: the bytes are objects of the store, named by their SHA-256, which several repositories may have.
CREATE TABLE forge_large_files (
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  sha256 TEXT NOT NULL,
  size INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  PRIMARY KEY (repository_id, sha256)
) STRICT;
CREATE INDEX forge_large_files_object ON forge_large_files (sha256);

CREATE TABLE forge_file_locks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  owner_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  UNIQUE (repository_id, path)
) STRICT;
CREATE INDEX forge_file_locks_owner ON forge_file_locks (owner_id);
