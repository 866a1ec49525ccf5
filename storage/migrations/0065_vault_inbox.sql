-- Files of inbox folders that are documents already, until they have left their folder: a crash between the two does not
-- make a second document.
CREATE TABLE vault_inbox_files (
  user_id TEXT NOT NULL REFERENCES vault_users (id) ON DELETE CASCADE,
  -- the name in the folder
  name TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  document_id TEXT NOT NULL REFERENCES vault_documents (id) ON DELETE CASCADE,
  taken_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, name)
) STRICT;

CREATE INDEX vault_inbox_files_document ON vault_inbox_files (document_id);
