-- Rules that protect branches, by the name or pattern of the branches.
CREATE TABLE forge_branch_protections (
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  rule_name TEXT NOT NULL,
  -- Of several rules that match, the one with the lowest counts.
  priority INTEGER NOT NULL,
  -- JSON: who may push and force, and what clients keep besides
  settings TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (repository_id, rule_name)
) STRICT;
