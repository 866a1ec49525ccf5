-- Settings, pictures, followers and stars of accounts; resets of passwords; files attached to issues.
ALTER TABLE forge_users ADD COLUMN theme TEXT NOT NULL DEFAULT '';
ALTER TABLE forge_users ADD COLUMN diff_view_style TEXT NOT NULL DEFAULT '';
ALTER TABLE forge_users ADD COLUMN keep_activity_private INTEGER NOT NULL DEFAULT 0;
-- Counts of rows below, so that lists of accounts and repositories need not count them.
ALTER TABLE forge_users ADD COLUMN follower_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE forge_users ADD COLUMN following_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE forge_users ADD COLUMN star_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE forge_repositories ADD COLUMN star_count INTEGER NOT NULL DEFAULT 0;

-- Uploaded pictures. The picture of any other account is drawn from its hash.
CREATE TABLE forge_avatars (
  user_id INTEGER PRIMARY KEY REFERENCES forge_users (id) ON DELETE CASCADE,
  -- names the object, and the picture in its address
  sha256 TEXT NOT NULL,
  size INTEGER NOT NULL,
  content_type TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_avatars_object ON forge_avatars (sha256);

CREATE TABLE forge_follows (
  followed_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  follower_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (followed_id, follower_id)
) STRICT;
CREATE INDEX forge_follows_follower ON forge_follows (follower_id, followed_id);

CREATE TABLE forge_stars (
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  user_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (repository_id, user_id)
) STRICT;
CREATE INDEX forge_stars_user ON forge_stars (user_id, repository_id);

-- The newest link of an account for choosing a password. A new one replaces it; the first use deletes it.
CREATE TABLE forge_password_resets (
  user_id INTEGER PRIMARY KEY REFERENCES forge_users (id) ON DELETE CASCADE,
  -- SHA-256 of the token, in hex: the token itself is in the mail alone
  token_hash TEXT NOT NULL UNIQUE,
  -- SHA-256 of the stored password hash: a changed password ends the link
  password_mark TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_password_resets_expiry ON forge_password_resets (expires_at);

CREATE TABLE forge_attachments (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid TEXT NOT NULL UNIQUE,
  issue_id INTEGER NOT NULL REFERENCES forge_issues (id) ON DELETE CASCADE,
  -- null: of the issue itself
  comment_id INTEGER REFERENCES forge_issue_comments (id) ON DELETE CASCADE,
  -- null once the account is gone
  uploader_id INTEGER REFERENCES forge_users (id) ON DELETE SET NULL,
  name TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  size INTEGER NOT NULL,
  -- told from the bytes
  content_type TEXT NOT NULL,
  download_count INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_attachments_issue ON forge_attachments (issue_id, comment_id, id);
CREATE INDEX forge_attachments_comment ON forge_attachments (comment_id);
CREATE INDEX forge_attachments_uploader ON forge_attachments (uploader_id);
CREATE INDEX forge_attachments_object ON forge_attachments (sha256);
