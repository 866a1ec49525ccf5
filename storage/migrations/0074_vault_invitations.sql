-- Documents that are shared with an e-mail address: each waits until its recipient accepts it with the secret of a mail.
CREATE TABLE vault_invitations (
  id TEXT PRIMARY KEY,
  document_id TEXT NOT NULL REFERENCES vault_documents (id) ON DELETE CASCADE,
  owner_id TEXT NOT NULL REFERENCES vault_users (id) ON DELETE CASCADE,
  email TEXT NOT NULL,
  permission TEXT NOT NULL CHECK (permission IN ('view', 'download')),
  secret_hash TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  UNIQUE (document_id, email)
) STRICT;

CREATE INDEX vault_invitations_owner ON vault_invitations (owner_id, created_at, id);
CREATE INDEX vault_invitations_email ON vault_invitations (email);
