-- Topics and programming languages of repositories.

-- JSON: the topics by name, as in the rows below, so that a repository is read with them.
ALTER TABLE forge_repositories ADD COLUMN topics TEXT NOT NULL DEFAULT '[]';
-- The language with the most bytes; empty when it is not known.
ALTER TABLE forge_repositories ADD COLUMN language TEXT NOT NULL DEFAULT '';

CREATE TABLE forge_repository_topics (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (repository_id, name)
) STRICT;
CREATE INDEX forge_repository_topics_name ON forge_repository_topics (name, repository_id);

CREATE TABLE forge_repository_languages (
  repository_id INTEGER NOT NULL PRIMARY KEY REFERENCES forge_repositories (id) ON DELETE CASCADE,
  -- The commit that was counted.
  commit_id TEXT NOT NULL,
  -- JSON: bytes by language
  sizes TEXT NOT NULL
) STRICT;
