-- Rules that protect tags, by a glob or a regular expression: only the listed users and teams create, move and delete them.
CREATE TABLE forge_tag_protections (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  name_pattern TEXT NOT NULL,
  -- JSON lists of ids
  user_ids TEXT NOT NULL,
  team_ids TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (repository_id, name_pattern)
) STRICT;
