-- Sessions of the forge's pages, which a cookie names.
CREATE TABLE forge_web_sessions (
  -- SHA-256 of the cookie's secret, in hex
  id TEXT NOT NULL PRIMARY KEY,
  user_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  -- SHA-256 of the stored password hash at sign-in: a changed password ends the session
  password_mark TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_web_sessions_user ON forge_web_sessions (user_id, created_at);
CREATE INDEX forge_web_sessions_expiry ON forge_web_sessions (expires_at);
