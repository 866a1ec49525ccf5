-- Dependencies between issues, stopwatches and tracked time.

CREATE TABLE forge_issue_dependencies (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  issue_id INTEGER NOT NULL REFERENCES forge_issues (id) ON DELETE CASCADE,
  -- the issue that must be closed before the other one
  blocker_id INTEGER NOT NULL REFERENCES forge_issues (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  UNIQUE (issue_id, blocker_id),
  CHECK (issue_id <> blocker_id)
) STRICT;
CREATE INDEX forge_issue_dependencies_blocker ON forge_issue_dependencies (blocker_id, id);

-- A user has at most one running stopwatch.
CREATE TABLE forge_stopwatches (
  user_id INTEGER NOT NULL PRIMARY KEY REFERENCES forge_users (id) ON DELETE CASCADE,
  issue_id INTEGER NOT NULL REFERENCES forge_issues (id) ON DELETE CASCADE,
  started_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_stopwatches_issue ON forge_stopwatches (issue_id);

CREATE TABLE forge_tracked_times (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  issue_id INTEGER NOT NULL REFERENCES forge_issues (id) ON DELETE CASCADE,
  -- null once the account is deleted
  user_id INTEGER REFERENCES forge_users (id) ON DELETE SET NULL,
  seconds INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_tracked_times_issue ON forge_tracked_times (issue_id, id);
CREATE INDEX forge_tracked_times_user ON forge_tracked_times (user_id, id);
