-- Events that the workflow files of a default branch name: a change of an issue looks here before it describes itself.

CREATE TABLE forge_action_events (
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  -- as in `on`, such as 'issues'
  event TEXT NOT NULL,
  PRIMARY KEY (repository_id, event)
) STRICT;
