-- Rules have ids, by which clients order them.
CREATE TABLE forge_branch_protections_rebuilt (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  rule_name TEXT NOT NULL,
  -- Of several rules that match, the one with the lowest counts.
  priority INTEGER NOT NULL,
  -- JSON: who may push and force, and what clients keep besides
  settings TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (repository_id, rule_name)
) STRICT;
INSERT INTO forge_branch_protections_rebuilt (repository_id, rule_name, priority, settings, created_at, updated_at)
SELECT repository_id, rule_name, priority, settings, created_at, updated_at FROM forge_branch_protections
ORDER BY repository_id, created_at, rule_name;
DROP TABLE forge_branch_protections;
ALTER TABLE forge_branch_protections_rebuilt RENAME TO forge_branch_protections;
