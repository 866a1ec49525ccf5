-- The forge's issues, and the threads in which people are told of what happens.

CREATE TABLE forge_issues (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  -- from 1 in each repository, never used twice
  number INTEGER NOT NULL,
  -- null once the account is gone
  author_id INTEGER REFERENCES forge_users (id) ON DELETE SET NULL,
  title TEXT NOT NULL,
  body TEXT NOT NULL,
  ref TEXT NOT NULL,
  is_closed INTEGER NOT NULL CHECK (is_closed IN (0, 1)),
  comment_count INTEGER NOT NULL,
  -- grows with every change of the body
  content_version INTEGER NOT NULL,
  due_at INTEGER,
  closed_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (repository_id, number)
) STRICT;
CREATE INDEX forge_issues_state ON forge_issues (repository_id, is_closed, created_at, id);
CREATE INDEX forge_issues_age ON forge_issues (repository_id, created_at, id);
CREATE INDEX forge_issues_author ON forge_issues (author_id);

CREATE TABLE forge_issue_numbers (
  repository_id INTEGER PRIMARY KEY REFERENCES forge_repositories (id) ON DELETE CASCADE,
  last_number INTEGER NOT NULL
) STRICT;

CREATE TABLE forge_issue_assignees (
  issue_id INTEGER NOT NULL REFERENCES forge_issues (id) ON DELETE CASCADE,
  user_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  PRIMARY KEY (issue_id, user_id)
) STRICT;
CREATE INDEX forge_issue_assignees_user ON forge_issue_assignees (user_id);

CREATE TABLE forge_issue_labels (
  issue_id INTEGER NOT NULL REFERENCES forge_issues (id) ON DELETE CASCADE,
  label_id INTEGER NOT NULL REFERENCES forge_labels (id) ON DELETE CASCADE,
  PRIMARY KEY (issue_id, label_id)
) STRICT;
CREATE INDEX forge_issue_labels_label ON forge_issue_labels (label_id);

-- Whom the text of an issue, or of a comment on it, has ever named.
CREATE TABLE forge_issue_mentions (
  issue_id INTEGER NOT NULL REFERENCES forge_issues (id) ON DELETE CASCADE,
  user_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  PRIMARY KEY (issue_id, user_id)
) STRICT;
CREATE INDEX forge_issue_mentions_user ON forge_issue_mentions (user_id);

CREATE TABLE forge_issue_comments (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  issue_id INTEGER NOT NULL REFERENCES forge_issues (id) ON DELETE CASCADE,
  author_id INTEGER REFERENCES forge_users (id) ON DELETE SET NULL,
  body TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_issue_comments_issue ON forge_issue_comments (issue_id, id, author_id);
CREATE INDEX forge_issue_comments_author ON forge_issue_comments (author_id);

-- Who asked to be told of an issue (1), or not to be (0). Without a row the rest decides.
CREATE TABLE forge_issue_subscriptions (
  issue_id INTEGER NOT NULL REFERENCES forge_issues (id) ON DELETE CASCADE,
  user_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  is_subscribed INTEGER NOT NULL CHECK (is_subscribed IN (0, 1)),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (issue_id, user_id)
) STRICT;
CREATE INDEX forge_issue_subscriptions_user ON forge_issue_subscriptions (user_id);

-- What build servers report of commits.
CREATE TABLE forge_commit_statuses (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  commit_id TEXT NOT NULL,
  context TEXT NOT NULL,
  -- 0 pending, 1 success, 2 error, 3 failure, 4 warning, 5 skipped
  state INTEGER NOT NULL CHECK (state IN (0, 1, 2, 3, 4, 5)),
  target_url TEXT NOT NULL,
  description TEXT NOT NULL,
  creator_id INTEGER REFERENCES forge_users (id) ON DELETE SET NULL,
  -- whose commit it is; null when the address in it is nobody's
  author_id INTEGER REFERENCES forge_users (id) ON DELETE SET NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_commit_statuses_commit ON forge_commit_statuses (repository_id, commit_id, id);
CREATE INDEX forge_commit_statuses_outcome ON forge_commit_statuses (repository_id, context, author_id, id);
CREATE INDEX forge_commit_statuses_creator ON forge_commit_statuses (creator_id);
CREATE INDEX forge_commit_statuses_author ON forge_commit_statuses (author_id);

CREATE TABLE forge_notifications (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  -- 1 issue, 2 pull, 3 commit, 4 repository
  kind INTEGER NOT NULL CHECK (kind IN (1, 2, 3, 4)),
  -- 0 unread, 1 read, 2 pinned
  status INTEGER NOT NULL CHECK (status IN (0, 1, 2)),
  issue_id INTEGER REFERENCES forge_issues (id) ON DELETE CASCADE,
  commit_id TEXT,
  -- when what it was last told of happened: telling the same again changes nothing
  told_at INTEGER NOT NULL,
  -- the mailbox's revision when it was told of: what is greater than a revision is news to whom knows that one
  news_revision INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  -- One thread per person and issue, or commit; threads of repositories are one per event.
  UNIQUE (issue_id, user_id),
  UNIQUE (repository_id, user_id, commit_id)
) STRICT;
-- Lists and counts read this alone: one range per status, and what else filters choose by rides along.
CREATE INDEX forge_notifications_mailbox
  ON forge_notifications (user_id, status, updated_at, id, kind, repository_id);

CREATE INDEX forge_notifications_news ON forge_notifications (user_id, news_revision);

-- The revision grows with every change of a person's threads, so that polling costs one row while nothing happens. The
-- counts are of threads by their status: whoever changes threads holds the row first, and changes them along.
CREATE TABLE forge_mailboxes (
  user_id INTEGER PRIMARY KEY REFERENCES forge_users (id) ON DELETE CASCADE,
  revision INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  unread_count INTEGER NOT NULL,
  read_count INTEGER NOT NULL,
  pinned_count INTEGER NOT NULL
) STRICT;
