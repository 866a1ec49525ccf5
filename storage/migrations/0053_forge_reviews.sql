-- Reviews of pull requests, requests for them, and comments on lines of a diff.

CREATE TABLE forge_reviews (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  issue_id INTEGER NOT NULL REFERENCES forge_issues (id) ON DELETE CASCADE,
  -- null for a team, and once the account is deleted
  reviewer_id INTEGER REFERENCES forge_users (id) ON DELETE SET NULL,
  -- the team that was asked
  team_id INTEGER REFERENCES forge_teams (id) ON DELETE CASCADE,
  -- pending, approved, changes_requested, comment, requested
  state TEXT NOT NULL,
  body TEXT NOT NULL,
  commit_id TEXT NOT NULL,
  is_official INTEGER NOT NULL,
  is_stale INTEGER NOT NULL,
  is_dismissed INTEGER NOT NULL,
  -- its entry in the timeline
  comment_id INTEGER REFERENCES forge_issue_comments (id) ON DELETE SET NULL,
  created_at INTEGER NOT NULL,
  submitted_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_reviews_issue ON forge_reviews (issue_id, id);
CREATE INDEX forge_reviews_reviewer ON forge_reviews (reviewer_id);
CREATE INDEX forge_reviews_team ON forge_reviews (team_id);
CREATE INDEX forge_reviews_comment ON forge_reviews (comment_id);
CREATE UNIQUE INDEX forge_reviews_pending ON forge_reviews (issue_id, reviewer_id) WHERE state = 'pending';
CREATE UNIQUE INDEX forge_reviews_requested ON forge_reviews (issue_id, reviewer_id) WHERE state = 'requested' AND reviewer_id IS NOT NULL;
CREATE UNIQUE INDEX forge_reviews_requested_team ON forge_reviews (issue_id, team_id) WHERE state = 'requested' AND team_id IS NOT NULL;

CREATE TABLE forge_review_lines (
  comment_id INTEGER NOT NULL PRIMARY KEY REFERENCES forge_issue_comments (id) ON DELETE CASCADE,
  review_id INTEGER NOT NULL REFERENCES forge_reviews (id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  -- old, new
  side TEXT NOT NULL,
  line INTEGER NOT NULL,
  commit_id TEXT NOT NULL,
  hunk TEXT NOT NULL,
  resolved_by INTEGER REFERENCES forge_users (id) ON DELETE SET NULL
) STRICT;
CREATE INDEX forge_review_lines_review ON forge_review_lines (review_id, comment_id);
CREATE INDEX forge_review_lines_resolved ON forge_review_lines (resolved_by);
