-- Users who may use a repository that is not theirs.
CREATE TABLE forge_collaborators (
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  user_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  -- 1 read, 2 write, 3 admin
  access INTEGER NOT NULL CHECK (access BETWEEN 1 AND 3),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (repository_id, user_id)
) STRICT;
CREATE INDEX forge_collaborators_user ON forge_collaborators (user_id, repository_id);
