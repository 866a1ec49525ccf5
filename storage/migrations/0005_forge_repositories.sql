-- The forge's repositories: what is known about each, and where its files are while they are being moved or removed.

CREATE TABLE forge_repositories (
  id INTEGER PRIMARY KEY,
  -- No cascade: an owner cannot go while a repository is left.
  owner_id INTEGER NOT NULL REFERENCES forge_users (id),
  name TEXT NOT NULL,
  lower_name TEXT NOT NULL,
  description TEXT NOT NULL,
  website TEXT NOT NULL DEFAULT '',
  -- kept by whoever opens or closes an issue, in the same transaction
  open_issue_count INTEGER NOT NULL DEFAULT 0,
  is_private INTEGER NOT NULL,
  is_template INTEGER NOT NULL,
  -- since when pushes and new issues are refused
  archived_at INTEGER,
  -- JSON: what its administrators set besides, by wire name; what is absent is as it is by default
  settings TEXT NOT NULL DEFAULT '{}',
  -- no branch yet
  is_empty INTEGER NOT NULL,
  branch_count INTEGER NOT NULL,
  default_branch TEXT NOT NULL,
  object_format TEXT NOT NULL CHECK (object_format IN ('sha1', 'sha256')),
  trust_model TEXT NOT NULL,
  -- JSON: keys of licenses
  licenses TEXT NOT NULL,
  size_kib INTEGER NOT NULL,
  -- Where the files are, relative to the folder of repositories. Not always where they belong: see needs_move.
  path TEXT NOT NULL UNIQUE,
  -- 1 while the files are not yet at {owner}/{name}.git
  needs_move INTEGER NOT NULL CHECK (needs_move IN (0, 1)),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (owner_id, lower_name)
) STRICT;
CREATE INDEX forge_repositories_moving ON forge_repositories (id) WHERE needs_move = 1;

-- How many repositories an owner has, public (0) and private (1) ones, so that a list need not count them.
CREATE TABLE forge_repository_totals (
  owner_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  is_private INTEGER NOT NULL,
  repositories INTEGER NOT NULL,
  PRIMARY KEY (owner_id, is_private)
) STRICT;

-- One row. Ids are never used twice, even after the newest repository is gone.
CREATE TABLE forge_repository_state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  last_repository_id INTEGER NOT NULL
) STRICT;
INSERT INTO forge_repository_state (id, last_repository_id) VALUES (1, 0);

-- Former names of repositories. A name leads on until its owner has a repository of that name again.
CREATE TABLE forge_repository_redirects (
  owner_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  lower_name TEXT NOT NULL,
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  PRIMARY KEY (owner_id, lower_name)
) STRICT;
CREATE INDEX forge_repository_redirects_repository ON forge_repository_redirects (repository_id);

-- Repositories that are offered to an owner who has not answered yet.
CREATE TABLE forge_repository_transfers (
  repository_id INTEGER PRIMARY KEY REFERENCES forge_repositories (id) ON DELETE CASCADE,
  doer_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  recipient_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  -- JSON: ids of teams of the recipient that are to get it, too
  team_ids TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_repository_transfers_doer ON forge_repository_transfers (doer_id);
CREATE INDEX forge_repository_transfers_recipient ON forge_repository_transfers (recipient_id);

-- Work on files that a committed change has left to be done: 'remove' a repository's folder or an owner's,
-- 'follow' an owner to a new name with what lies in the folder of the old one, 'head': point HEAD of the repository
-- whose id is the path to its default branch.
CREATE TABLE forge_repository_chores (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('remove', 'follow', 'head')),
  path TEXT NOT NULL,
  -- 'follow': the folder to move to
  target TEXT
) STRICT;
CREATE INDEX forge_repository_chores_path ON forge_repository_chores (path);

-- Pushes that git has been given and whose changes nobody has been told of yet. Written before git may move a ref.
CREATE TABLE forge_pushes (
  id INTEGER PRIMARY KEY,
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  pusher_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  -- JSON: what the client asked for
  changes TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  -- Until then the process that runs it is alive; it renews this.
  leased_until INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_pushes_repository ON forge_pushes (repository_id);
CREATE INDEX forge_pushes_pusher ON forge_pushes (pusher_id);

CREATE TABLE forge_labels (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  color TEXT NOT NULL,
  description TEXT NOT NULL,
  is_exclusive INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_labels_repository ON forge_labels (repository_id, name);

CREATE TABLE forge_watches (
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  user_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (repository_id, user_id)
) STRICT;
CREATE INDEX forge_watches_user ON forge_watches (user_id);
