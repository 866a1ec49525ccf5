-- Uploaded pictures of repositories, as forge_avatars has those of accounts.
CREATE TABLE forge_repository_avatars (
  repository_id INTEGER NOT NULL PRIMARY KEY REFERENCES forge_repositories (id) ON DELETE CASCADE,
  sha256 TEXT NOT NULL,
  size INTEGER NOT NULL,
  content_type TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_repository_avatars_object ON forge_repository_avatars (sha256);

-- The picture in addresses; empty without one.
ALTER TABLE forge_repositories ADD COLUMN avatar_hash TEXT NOT NULL DEFAULT '';
