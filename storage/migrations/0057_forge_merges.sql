-- Merges of pull requests: those under way, by the entry of the journal, and those that wait for checks and approvals.
CREATE TABLE forge_pull_merges (
  push_id INTEGER NOT NULL PRIMARY KEY REFERENCES forge_pushes (id) ON DELETE CASCADE,
  issue_id INTEGER NOT NULL REFERENCES forge_pulls (issue_id) ON DELETE CASCADE,
  style TEXT NOT NULL,
  merge_commit TEXT NOT NULL
) STRICT;
CREATE INDEX forge_pull_merges_issue ON forge_pull_merges (issue_id);

CREATE TABLE forge_auto_merges (
  issue_id INTEGER NOT NULL PRIMARY KEY REFERENCES forge_pulls (issue_id) ON DELETE CASCADE,
  user_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  style TEXT NOT NULL,
  title TEXT NOT NULL,
  message TEXT NOT NULL,
  -- null: as the repository does by default
  deletes_branch INTEGER,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_auto_merges_user ON forge_auto_merges (user_id);
