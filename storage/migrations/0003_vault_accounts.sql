-- The vault's accounts: users, quotas, sessions with their refresh tokens, backup codes, and the audit trail.

CREATE TABLE vault_users (
  id TEXT PRIMARY KEY,
  handle TEXT NOT NULL,
  -- the handle in lower case: handles differ in more than case
  handle_key TEXT NOT NULL UNIQUE,
  email TEXT NOT NULL UNIQUE,
  password_hash TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('user', 'admin')),
  is_active INTEGER NOT NULL CHECK (is_active IN (0, 1)),
  password_must_change INTEGER NOT NULL CHECK (password_must_change IN (0, 1)),
  -- null until the user chooses
  pdf_open_mode TEXT CHECK (pdf_open_mode IN ('in_app', 'new_tab')),
  default_storage_backend TEXT NOT NULL,
  -- grows with every change that ends the access tokens issued before it; each token carries the value of its day
  token_version INTEGER NOT NULL,
  totp_enabled INTEGER NOT NULL CHECK (totp_enabled IN (0, 1)),
  -- sealed; present exactly while the second factor is on
  totp_secret TEXT,
  -- the newest time step that a code was accepted for: neither it nor an older one is accepted again
  totp_last_step INTEGER NOT NULL,
  -- sealed; the secret of a setup under way
  totp_pending_secret TEXT,
  totp_pending_expires_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  CHECK ((totp_enabled = 1) = (totp_secret IS NOT NULL))
) STRICT;

CREATE INDEX vault_users_created ON vault_users (created_at, id);
CREATE INDEX vault_users_admins ON vault_users (id) WHERE role = 'admin';

CREATE TABLE vault_quotas (
  user_id TEXT PRIMARY KEY REFERENCES vault_users (id) ON DELETE CASCADE,
  used_bytes INTEGER NOT NULL CHECK (used_bytes >= 0),
  limit_bytes INTEGER NOT NULL CHECK (limit_bytes >= 0)
) STRICT;

-- A session is what one sign-in began: the family of refresh tokens that follow each other.
CREATE TABLE vault_sessions (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES vault_users (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  -- when its newest refresh token runs out
  expires_at INTEGER NOT NULL,
  -- set when it was signed out or revoked: from then on none of its tokens is good for anything
  ended_at INTEGER,
  user_agent TEXT NOT NULL,
  ip_address TEXT NOT NULL
) STRICT;

CREATE INDEX vault_sessions_user ON vault_sessions (user_id, ended_at);
CREATE INDEX vault_sessions_expiry ON vault_sessions (expires_at);

CREATE TABLE vault_refresh_tokens (
  -- SHA-256 in hex: the token itself is nowhere
  token_hash TEXT PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES vault_sessions (id) ON DELETE CASCADE,
  parent_hash TEXT,
  issued_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  -- set when it was exchanged for its successor
  revoked_at INTEGER
) STRICT;

CREATE INDEX vault_refresh_tokens_session ON vault_refresh_tokens (session_id);
-- At most one token of a session can be exchanged.
CREATE UNIQUE INDEX vault_refresh_tokens_active ON vault_refresh_tokens (session_id) WHERE revoked_at IS NULL;

CREATE TABLE vault_backup_codes (
  user_id TEXT NOT NULL REFERENCES vault_users (id) ON DELETE CASCADE,
  code_hash TEXT NOT NULL,
  used_at INTEGER,
  PRIMARY KEY (user_id, code_hash)
) STRICT;

-- No foreign keys: records outlive what they tell of.
CREATE TABLE vault_audit (
  id INTEGER PRIMARY KEY,
  event_type TEXT NOT NULL,
  user_id TEXT,
  actor_id TEXT,
  resource_id TEXT,
  ip_address TEXT,
  -- JSON object
  metadata TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX vault_audit_time ON vault_audit (created_at, id);
CREATE INDEX vault_audit_user ON vault_audit (user_id, created_at, id);
CREATE INDEX vault_audit_event ON vault_audit (event_type, created_at);
