-- A fork names its parent. Deleting the parent makes it a repository like any other. `fork_count` counts the forks.
ALTER TABLE forge_repositories ADD COLUMN fork_of INTEGER REFERENCES forge_repositories (id) ON DELETE SET NULL;
ALTER TABLE forge_repositories ADD COLUMN fork_count INTEGER NOT NULL DEFAULT 0;
CREATE INDEX forge_repositories_by_parent ON forge_repositories (fork_of, owner_id);
