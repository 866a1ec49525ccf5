-- The forge's people: users and organizations (one namespace), addresses, tokens, keys, badges, second factors.

CREATE TABLE forge_users (
  id INTEGER PRIMARY KEY,
  -- 0 a person, 1 an organization
  kind INTEGER NOT NULL CHECK (kind IN (0, 1)),
  name TEXT NOT NULL,
  lower_name TEXT NOT NULL UNIQUE,
  full_name TEXT NOT NULL,
  email TEXT NOT NULL,
  keep_email_private INTEGER NOT NULL,
  login_source INTEGER NOT NULL,
  login_name TEXT NOT NULL,
  password_hash TEXT NOT NULL,
  must_change_password INTEGER NOT NULL,
  is_active INTEGER NOT NULL,
  is_admin INTEGER NOT NULL,
  is_restricted INTEGER NOT NULL,
  prohibit_login INTEGER NOT NULL,
  two_factor_enabled INTEGER NOT NULL,
  allow_git_hook INTEGER NOT NULL,
  allow_import_local INTEGER NOT NULL,
  allow_create_organization INTEGER NOT NULL,
  max_repo_creation INTEGER NOT NULL,
  -- 0 public, 1 limited, 2 private
  visibility INTEGER NOT NULL CHECK (visibility IN (0, 1, 2)),
  website TEXT NOT NULL,
  location TEXT NOT NULL,
  description TEXT NOT NULL,
  language TEXT NOT NULL,
  avatar_hash TEXT NOT NULL,
  repo_admin_change_team_access INTEGER NOT NULL,
  last_login_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  -- kind, visibility, states and login source as one number: what the filters of lists choose by
  facet INTEGER NOT NULL
) STRICT;

-- Whole lists: the facet rides along so that skipping to a page and filtering need no look into the table.
CREATE INDEX forge_users_by_name ON forge_users (kind, name, id, facet);
CREATE INDEX forge_users_by_created ON forge_users (kind, created_at, id, facet);
CREATE INDEX forge_users_by_updated ON forge_users (kind, updated_at, id, facet);
CREATE INDEX forge_users_by_id ON forge_users (kind, id, facet);
-- Lists of a small part: one range per facet.
CREATE INDEX forge_users_facet_name ON forge_users (facet, name, id);
CREATE INDEX forge_users_facet_created ON forge_users (facet, created_at, id);
CREATE INDEX forge_users_facet_updated ON forge_users (facet, updated_at, id);
CREATE INDEX forge_users_facet_id ON forge_users (facet, id);
CREATE INDEX forge_users_login_name ON forge_users (login_name, name) WHERE login_name <> '';
CREATE INDEX forge_users_admins ON forge_users (id) WHERE is_admin = 1 AND kind = 0;
CREATE INDEX forge_users_avatar ON forge_users (avatar_hash);

-- How many accounts each facet has: exact totals without counting rows.
CREATE TABLE forge_user_facets (
  facet INTEGER PRIMARY KEY,
  users INTEGER NOT NULL
) STRICT;

-- What search terms are looked for in, in lower case: name and full name on two lines, and the primary address.
-- Apart from the accounts so that a search, which reads every row, reads as little as it can.
CREATE TABLE forge_user_search (
  user_id INTEGER PRIMARY KEY REFERENCES forge_users (id) ON DELETE CASCADE,
  names TEXT NOT NULL,
  email TEXT NOT NULL
) STRICT;

-- The same by groups of three letters: a term of three or more is found without reading every row.
-- @sqlite
CREATE VIRTUAL TABLE forge_user_grams USING fts5 (
  names, email, content = 'forge_user_search', content_rowid = 'user_id', tokenize = 'trigram'
);
-- @end

-- One row. Ids are never used twice, even after the newest account is gone; `generation` grows with every change of
-- an account, so that what was remembered about the order of a list can be told to be out of date.
CREATE TABLE forge_people_state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  last_user_id INTEGER NOT NULL,
  generation INTEGER NOT NULL
) STRICT;
INSERT INTO forge_people_state (id, last_user_id, generation) VALUES (1, 0, 0);

CREATE TABLE forge_user_redirects (
  lower_name TEXT NOT NULL PRIMARY KEY,
  user_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE
) STRICT;
CREATE INDEX forge_user_redirects_user ON forge_user_redirects (user_id);

CREATE TABLE forge_emails (
  id INTEGER PRIMARY KEY,
  user_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  email TEXT NOT NULL,
  lower_email TEXT NOT NULL UNIQUE,
  is_verified INTEGER NOT NULL,
  is_primary INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_emails_user ON forge_emails (user_id);
CREATE UNIQUE INDEX forge_emails_one_primary ON forge_emails (user_id) WHERE is_primary = 1;

-- Addresses by groups of three letters, as with names.
-- @sqlite
CREATE VIRTUAL TABLE forge_email_grams USING fts5 (
  lower_email, content = 'forge_emails', content_rowid = 'id', tokenize = 'trigram'
);
-- @end

-- AUTOINCREMENT, here and below: an id that clients know never names anything else, even after the newest row is gone.
CREATE TABLE forge_access_tokens (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  last_eight TEXT NOT NULL,
  salt TEXT NOT NULL,
  hash TEXT NOT NULL,
  scope TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  UNIQUE (user_id, name)
) STRICT;
CREATE INDEX forge_access_tokens_last_eight ON forge_access_tokens (last_eight);

CREATE TABLE forge_public_keys (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  title TEXT NOT NULL,
  content TEXT NOT NULL,
  fingerprint TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  UNIQUE (user_id, title)
) STRICT;

CREATE TABLE forge_badges (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  slug TEXT NOT NULL UNIQUE,
  description TEXT NOT NULL,
  image_url TEXT NOT NULL
) STRICT;

CREATE TABLE forge_user_badges (
  id INTEGER PRIMARY KEY,
  user_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  badge_id INTEGER NOT NULL REFERENCES forge_badges (id) ON DELETE CASCADE,
  UNIQUE (user_id, badge_id)
) STRICT;
CREATE INDEX forge_user_badges_badge ON forge_user_badges (badge_id);

-- A second factor is enrolled once `confirmed_at` is set; `last_step` is the newest time step whose code was used.
CREATE TABLE forge_two_factors (
  user_id INTEGER PRIMARY KEY REFERENCES forge_users (id) ON DELETE CASCADE,
  sealed_secret TEXT NOT NULL,
  last_step INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  confirmed_at INTEGER
) STRICT;

CREATE TABLE forge_teams (
  id INTEGER PRIMARY KEY,
  org_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  lower_name TEXT NOT NULL,
  -- 1 read, 2 write, 3 admin, 4 owner
  access INTEGER NOT NULL CHECK (access BETWEEN 1 AND 4),
  includes_all_repositories INTEGER NOT NULL,
  can_create_repositories INTEGER NOT NULL,
  UNIQUE (org_id, lower_name)
) STRICT;

CREATE TABLE forge_team_members (
  team_id INTEGER NOT NULL REFERENCES forge_teams (id) ON DELETE CASCADE,
  user_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  org_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  PRIMARY KEY (team_id, user_id)
) STRICT;
CREATE INDEX forge_team_members_user ON forge_team_members (user_id, org_id);
CREATE INDEX forge_team_members_org ON forge_team_members (org_id);

CREATE TABLE forge_org_members (
  org_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  user_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  is_public INTEGER NOT NULL,
  PRIMARY KEY (org_id, user_id)
) STRICT;
CREATE INDEX forge_org_members_user ON forge_org_members (user_id);
