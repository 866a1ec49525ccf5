-- Labels of organizations, milestones, locks, pins, reactions and the events of issues.

-- A label belongs to a repository, or to an organization and so to all of its repositories.
-- @sqlite
CREATE TABLE forge_labels_rebuilt (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repository_id INTEGER REFERENCES forge_repositories (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  color TEXT NOT NULL,
  description TEXT NOT NULL,
  is_exclusive INTEGER NOT NULL,
  org_id INTEGER REFERENCES forge_users (id) ON DELETE CASCADE,
  archived_at INTEGER,
  CHECK ((repository_id IS NULL) <> (org_id IS NULL))
) STRICT;
INSERT INTO forge_labels_rebuilt (id, repository_id, name, color, description, is_exclusive)
  SELECT id, repository_id, name, color, description, is_exclusive FROM forge_labels;
DROP TABLE forge_labels;
ALTER TABLE forge_labels_rebuilt RENAME TO forge_labels;
CREATE INDEX forge_labels_repository ON forge_labels (repository_id, name);
-- @end
-- @postgres
ALTER TABLE forge_labels ALTER COLUMN repository_id DROP NOT NULL;
ALTER TABLE forge_labels ADD COLUMN org_id BIGINT REFERENCES forge_users (id) ON DELETE CASCADE;
ALTER TABLE forge_labels ADD COLUMN archived_at BIGINT;
ALTER TABLE forge_labels ADD CHECK ((repository_id IS NULL) <> (org_id IS NULL));
-- @end
CREATE INDEX forge_labels_org ON forge_labels (org_id, name);

CREATE TABLE forge_milestones (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  title TEXT NOT NULL,
  description TEXT NOT NULL,
  is_closed INTEGER NOT NULL CHECK (is_closed IN (0, 1)),
  due_at INTEGER,
  closed_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_milestones_repository ON forge_milestones (repository_id, is_closed);

ALTER TABLE forge_issues ADD COLUMN milestone_id INTEGER REFERENCES forge_milestones (id) ON DELETE SET NULL;
-- since when only users with write access comment
ALTER TABLE forge_issues ADD COLUMN locked_at INTEGER;
-- from 1 among the pinned issues of a repository; 0 is not pinned
ALTER TABLE forge_issues ADD COLUMN pin_order INTEGER NOT NULL DEFAULT 0;
CREATE INDEX forge_issues_milestone ON forge_issues (milestone_id, is_closed);
CREATE INDEX forge_issues_pinned ON forge_issues (repository_id, pin_order) WHERE pin_order > 0;

-- Comments and, by another kind, the events of an issue: together they are its timeline, in the order of their ids.
ALTER TABLE forge_issue_comments ADD COLUMN kind TEXT NOT NULL DEFAULT 'comment';
-- JSON: the facts of an event; empty for a comment
ALTER TABLE forge_issue_comments ADD COLUMN details TEXT NOT NULL DEFAULT '';
CREATE INDEX forge_issue_comments_kind ON forge_issue_comments (issue_id, kind, id);

CREATE TABLE forge_reactions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  issue_id INTEGER NOT NULL REFERENCES forge_issues (id) ON DELETE CASCADE,
  -- null: a reaction to the issue itself
  comment_id INTEGER REFERENCES forge_issue_comments (id) ON DELETE CASCADE,
  user_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  content TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX forge_reactions_issue ON forge_reactions (issue_id, user_id, content) WHERE comment_id IS NULL;
CREATE UNIQUE INDEX forge_reactions_comment ON forge_reactions (comment_id, user_id, content) WHERE comment_id IS NOT NULL;
CREATE INDEX forge_reactions_issues ON forge_reactions (issue_id, id);
CREATE INDEX forge_reactions_user ON forge_reactions (user_id);
CREATE INDEX forge_issues_created ON forge_issues (created_at, id);
