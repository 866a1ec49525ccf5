-- Releases of repositories and their files.
CREATE TABLE forge_releases (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  tag_name TEXT NOT NULL,
  -- where the tag is made unless it exists: a branch or a commit
  target TEXT NOT NULL,
  title TEXT NOT NULL,
  body TEXT NOT NULL,
  is_draft INTEGER NOT NULL CHECK (is_draft IN (0, 1)),
  is_prerelease INTEGER NOT NULL CHECK (is_prerelease IN (0, 1)),
  -- null once the account is gone
  author_id INTEGER REFERENCES forge_users (id) ON DELETE SET NULL,
  created_at INTEGER NOT NULL,
  -- of a draft: when it was created
  published_at INTEGER NOT NULL,
  UNIQUE (repository_id, tag_name)
) STRICT;
CREATE INDEX forge_releases_newest ON forge_releases (repository_id, is_draft, published_at, id);
CREATE INDEX forge_releases_author ON forge_releases (author_id);

CREATE TABLE forge_release_assets (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid TEXT NOT NULL UNIQUE,
  release_id INTEGER NOT NULL REFERENCES forge_releases (id) ON DELETE CASCADE,
  -- null once the account is gone
  uploader_id INTEGER REFERENCES forge_users (id) ON DELETE SET NULL,
  name TEXT NOT NULL,
  -- null for a link
  sha256 TEXT,
  size INTEGER NOT NULL,
  content_type TEXT NOT NULL,
  -- the address of a file that is kept elsewhere; empty for one that is kept here
  link TEXT NOT NULL,
  download_count INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_release_assets_release ON forge_release_assets (release_id, id);
CREATE INDEX forge_release_assets_uploader ON forge_release_assets (uploader_id);
CREATE INDEX forge_release_assets_object ON forge_release_assets (sha256);

-- Releases that are no drafts.
ALTER TABLE forge_repositories ADD COLUMN release_count INTEGER NOT NULL DEFAULT 0;
