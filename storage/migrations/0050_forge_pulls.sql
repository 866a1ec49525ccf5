-- Pull requests: an issue with a kind, and what git says of its branches.

ALTER TABLE forge_issues ADD COLUMN is_pull INTEGER NOT NULL DEFAULT 0;
ALTER TABLE forge_repositories ADD COLUMN open_pull_count INTEGER NOT NULL DEFAULT 0;
CREATE INDEX forge_issues_kind ON forge_issues (repository_id, is_pull, is_closed, created_at, id);
CREATE INDEX forge_issues_kind_updated ON forge_issues (repository_id, is_pull, is_closed, updated_at, id);

CREATE TABLE forge_pulls (
  issue_id INTEGER NOT NULL PRIMARY KEY REFERENCES forge_issues (id) ON DELETE CASCADE,
  -- the base
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  base_branch TEXT NOT NULL,
  -- null once it is deleted
  head_repository_id INTEGER REFERENCES forge_repositories (id) ON DELETE SET NULL,
  -- empty for one that was pushed without a branch
  head_branch TEXT NOT NULL,
  agit_topic TEXT,
  is_head_gone INTEGER NOT NULL DEFAULT 0,
  head_commit TEXT NOT NULL,
  base_commit TEXT NOT NULL,
  merge_base TEXT NOT NULL,
  allows_maintainer_edit INTEGER NOT NULL,
  -- checking, mergeable, conflict, failed
  state TEXT NOT NULL,
  conflicted_paths TEXT NOT NULL,
  additions INTEGER NOT NULL,
  deletions INTEGER NOT NULL,
  changed_files INTEGER NOT NULL,
  commits INTEGER NOT NULL,
  merged_at INTEGER,
  merged_by INTEGER REFERENCES forge_users (id) ON DELETE SET NULL,
  merge_commit TEXT,
  merge_style TEXT
) STRICT;
CREATE INDEX forge_pulls_base ON forge_pulls (repository_id, base_branch);
CREATE INDEX forge_pulls_head ON forge_pulls (head_repository_id, head_branch);
CREATE INDEX forge_pulls_checking ON forge_pulls (repository_id) WHERE state = 'checking';
CREATE INDEX forge_pulls_merge_commit ON forge_pulls (repository_id, merge_commit) WHERE merge_commit IS NOT NULL;
CREATE INDEX forge_pulls_merged_by ON forge_pulls (merged_by);
