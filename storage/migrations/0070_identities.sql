-- Sign-in by an OpenID provider: the identities that accounts are linked to, one table for each API, and sign-ins that are
-- not complete yet.
CREATE TABLE forge_identities (
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  user_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  -- what the provider calls the person, for the list; it decides nothing
  label TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT;
CREATE INDEX forge_identities_user ON forge_identities (user_id);

CREATE TABLE vault_identities (
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  user_id TEXT NOT NULL REFERENCES vault_users (id) ON DELETE CASCADE,
  label TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT;
CREATE INDEX vault_identities_user ON vault_identities (user_id);

CREATE TABLE sign_in_flows (
  -- SHA-256 of the secret in the browser's cookie, in hex
  id TEXT NOT NULL PRIMARY KEY,
  -- JSON
  details TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sign_in_flows_expires ON sign_in_flows (expires_at);
