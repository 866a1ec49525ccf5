-- What users did in repositories, and the feeds in which it appears.

CREATE TABLE forge_activities (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  actor_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  -- Gitea's number of the kind: 1 create_repo, 2 rename_repo, 5 commit_repo, 6 create_issue, 8 transfer_repo, 9 push_tag,
  -- 10 comment_issue, 12 close_issue, 13 reopen_issue, 16 delete_tag, 17 delete_branch
  kind INTEGER NOT NULL,
  issue_id INTEGER REFERENCES forge_issues (id) ON DELETE CASCADE,
  comment_id INTEGER REFERENCES forge_issue_comments (id) ON DELETE CASCADE,
  -- in full, such as refs/heads/main; empty for other kinds than pushes and deletions
  ref TEXT NOT NULL,
  -- the object that a push left the ref at; empty otherwise
  object_id TEXT NOT NULL,
  -- a former name, or JSON of the commits of a push: empty until they are read
  content TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
-- Lists and counts read these alone; the columns after the id are those that visibility depends on.
CREATE INDEX forge_activities_repository ON forge_activities (repository_id, created_at, id, kind, actor_id);
CREATE INDEX forge_activities_actor ON forge_activities (actor_id, created_at, id, kind, repository_id);
CREATE INDEX forge_activities_issue ON forge_activities (issue_id) WHERE issue_id IS NOT NULL;
CREATE INDEX forge_activities_comment ON forge_activities (comment_id) WHERE comment_id IS NOT NULL;

-- In whose feed an activity appears: the actor's, the organization's that owns the repository, the watchers'. The last
-- four columns repeat the activity, so that a page and its count need no other table.
CREATE TABLE forge_activity_receivers (
  user_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  activity_id INTEGER NOT NULL REFERENCES forge_activities (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  actor_id INTEGER NOT NULL,
  repository_id INTEGER NOT NULL,
  PRIMARY KEY (user_id, created_at, activity_id)
) WITHOUT ROWID, STRICT;
CREATE UNIQUE INDEX forge_activity_receivers_activity ON forge_activity_receivers (activity_id, user_id);

-- The past, as far as it is known: issues, comments and changes of state. Calendars of contributions counted these.
INSERT INTO forge_activities (actor_id, repository_id, kind, issue_id, comment_id, ref, object_id, content, created_at)
  SELECT past.actor_id, past.repository_id, past.kind, past.issue_id, past.comment_id, '', '', '', past.created_at
  FROM (
    SELECT c.author_id AS actor_id, i.repository_id AS repository_id, i.id AS issue_id, c.created_at AS created_at,
      CASE c.kind WHEN 'comment' THEN 10 WHEN 'close' THEN 12 ELSE 13 END AS kind,
      CASE c.kind WHEN 'comment' THEN c.id END AS comment_id
    FROM forge_issue_comments c JOIN forge_issues i ON i.id = c.issue_id
    WHERE c.author_id IS NOT NULL AND c.kind IN ('comment', 'close', 'reopen')
    UNION ALL
    SELECT i.author_id, i.repository_id, i.id, i.created_at, 6, NULL
    FROM forge_issues i WHERE i.author_id IS NOT NULL
  ) AS past
  ORDER BY past.created_at;
INSERT INTO forge_activity_receivers (user_id, activity_id, created_at, kind, actor_id, repository_id)
  SELECT a.actor_id, a.id, a.created_at, a.kind, a.actor_id, a.repository_id FROM forge_activities a;
INSERT INTO forge_activity_receivers (user_id, activity_id, created_at, kind, actor_id, repository_id)
  SELECT r.owner_id, a.id, a.created_at, a.kind, a.actor_id, a.repository_id
  FROM forge_activities a JOIN forge_repositories r ON r.id = a.repository_id JOIN forge_users u ON u.id = r.owner_id
  WHERE u.kind = 1;
INSERT INTO forge_activity_receivers (user_id, activity_id, created_at, kind, actor_id, repository_id)
  SELECT w.user_id, a.id, a.created_at, a.kind, a.actor_id, a.repository_id
  FROM forge_activities a JOIN forge_watches w ON w.repository_id = a.repository_id
  WHERE w.user_id <> a.actor_id AND w.created_at <= a.created_at
    AND w.user_id NOT IN (SELECT u.id FROM forge_users u WHERE u.kind = 1);
