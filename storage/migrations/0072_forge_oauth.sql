-- Programs that sign in by OAuth 2, the consents of users, and the sign-ins that follow from them.

CREATE TABLE forge_oauth_applications (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- null: an application that every server has
  owner_id INTEGER REFERENCES forge_users (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  client_id TEXT NOT NULL UNIQUE,
  -- SHA-256 in hex; empty without a secret
  secret_hash TEXT NOT NULL,
  -- JSON: a list
  redirect_uris TEXT NOT NULL,
  is_confidential INTEGER NOT NULL,
  skips_consent INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_oauth_applications_owner ON forge_oauth_applications (owner_id, id);

-- The public clients that come with Gitea, whose tools have these ids built in.
INSERT INTO forge_oauth_applications (name, client_id, secret_hash, redirect_uris, is_confidential, skips_consent, created_at)
VALUES
  ('git-credential-oauth', 'a4792ccc-144e-407e-86c9-5e7d8d9c3269', '', '["http://127.0.0.1","https://127.0.0.1"]', 0, 0, 0),
  ('Git Credential Manager', 'e90ee53c-94e2-48ac-9358-a874fb9e0662', '', '["http://127.0.0.1","https://127.0.0.1"]', 0, 0, 0),
  ('tea', 'd57cb8c4-630c-4168-8324-ec79935e18d4', '', '["http://127.0.0.1","https://127.0.0.1"]', 0, 0, 0);

-- What a user lets an application do.
CREATE TABLE forge_oauth_grants (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  application_id INTEGER NOT NULL REFERENCES forge_oauth_applications (id) ON DELETE CASCADE,
  -- words of OpenID Connect and of tokens, separated by spaces
  scope TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (user_id, application_id)
) STRICT;
CREATE INDEX forge_oauth_grants_application ON forge_oauth_grants (application_id);

-- One sign-in: a code, then the refresh token that it was exchanged for.
CREATE TABLE forge_oauth_sign_ins (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  grant_id INTEGER NOT NULL REFERENCES forge_oauth_grants (id) ON DELETE CASCADE,
  scope TEXT NOT NULL,
  -- SHA-256 in hex
  code_hash TEXT NOT NULL UNIQUE,
  redirect_uri TEXT NOT NULL,
  -- of the method S256; empty without one
  code_challenge TEXT NOT NULL,
  nonce TEXT NOT NULL,
  -- the end of the code, then of the refresh token
  expires_at INTEGER NOT NULL,
  -- when the code was exchanged
  used_at INTEGER,
  -- names the sign-in in its refresh tokens
  refresh_key TEXT UNIQUE,
  -- SHA-256 in hex of the present refresh token
  refresh_hash TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_oauth_sign_ins_grant ON forge_oauth_sign_ins (grant_id, id);
CREATE INDEX forge_oauth_sign_ins_end ON forge_oauth_sign_ins (expires_at);

-- The access tokens of a sign-in end with it.
ALTER TABLE forge_access_tokens ADD COLUMN sign_in_id INTEGER REFERENCES forge_oauth_sign_ins (id) ON DELETE CASCADE;
ALTER TABLE forge_access_tokens ADD COLUMN expires_at INTEGER;
CREATE INDEX forge_access_tokens_sign_in ON forge_access_tokens (sign_in_id);
