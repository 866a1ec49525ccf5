-- Documents in connected storage: the record of the file, and writes that a crash may have left without a document.

-- The recorded item of the file; it stays the same when the file is renamed or moved through the service.
ALTER TABLE vault_documents ADD COLUMN item_id TEXT REFERENCES vault_items (id) ON DELETE SET NULL;
CREATE INDEX vault_documents_item ON vault_documents (item_id) WHERE item_id IS NOT NULL;

-- One row for each file that is being written for a document. It is deleted by the transaction that adds the document.
CREATE TABLE vault_stored_file_writes (
  id TEXT PRIMARY KEY,
  connection_id TEXT NOT NULL REFERENCES vault_connections (id) ON DELETE CASCADE,
  parent_ref TEXT NOT NULL,
  -- has a random part, so that it names this file only
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX vault_stored_file_writes_connection ON vault_stored_file_writes (connection_id);
CREATE INDEX vault_stored_file_writes_created ON vault_stored_file_writes (created_at, id);
