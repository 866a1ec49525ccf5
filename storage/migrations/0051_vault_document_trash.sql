-- Deleted documents wait in the trash, and replaced contents are kept as versions.

-- when the document was put into the trash; null for all others
ALTER TABLE vault_documents ADD COLUMN trashed_at INTEGER;
-- the number of the present content, and when it was stored
ALTER TABLE vault_documents ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE vault_documents ADD COLUMN content_at INTEGER NOT NULL DEFAULT 0;
UPDATE vault_documents SET content_at = created_at;

-- Lists leave out the trash, so their indexes do, too.
DROP INDEX vault_documents_created;
DROP INDEX vault_documents_name;
DROP INDEX vault_documents_size;
CREATE INDEX vault_documents_created ON vault_documents (user_id, created_at, id) WHERE trashed_at IS NULL;
CREATE INDEX vault_documents_name ON vault_documents (user_id, name_key, id) WHERE trashed_at IS NULL;
CREATE INDEX vault_documents_size ON vault_documents (user_id, size_bytes, id) WHERE trashed_at IS NULL;
-- Of every document: a deleted account finds its documents by it.
CREATE INDEX vault_documents_trashed ON vault_documents (user_id, trashed_at, id);
CREATE INDEX vault_documents_purge ON vault_documents (trashed_at, id) WHERE trashed_at IS NOT NULL;

-- Earlier contents of documents in the vault's own storage.
CREATE TABLE vault_document_versions (
  document_id TEXT NOT NULL REFERENCES vault_documents (id) ON DELETE CASCADE,
  -- counts from 1; the present content of a document has a higher one
  number INTEGER NOT NULL,
  content_type TEXT NOT NULL,
  size_bytes INTEGER NOT NULL CHECK (size_bytes >= 0),
  sha256 TEXT NOT NULL,
  -- when the content was stored
  created_at INTEGER NOT NULL,
  PRIMARY KEY (document_id, number)
) STRICT;

CREATE INDEX vault_document_versions_object ON vault_document_versions (sha256);

-- Jobs of a document go when it is put into the trash. A running job finds nothing to do.
-- @sqlite
CREATE TRIGGER vault_documents_trash_jobs AFTER UPDATE OF trashed_at ON vault_documents
WHEN new.trashed_at IS NOT NULL AND old.trashed_at IS NULL BEGIN
  DELETE FROM jobs WHERE kind = 'vault.documents.process' AND key = old.id AND state = 'waiting';
  DELETE FROM jobs WHERE kind = 'vault.documents.process' AND key = old.id AND state = 'dead';
  DELETE FROM jobs WHERE kind = 'vault.semantic.index' AND key = old.id AND state = 'waiting';
  DELETE FROM jobs WHERE kind = 'vault.semantic.index' AND key = old.id AND state = 'dead';
END;
-- @end

-- @postgres
CREATE TRIGGER vault_documents_trash_jobs AFTER UPDATE OF trashed_at ON vault_documents
FOR EACH ROW WHEN (NEW.trashed_at IS NOT NULL AND OLD.trashed_at IS NULL)
EXECUTE FUNCTION delete_jobs_of_row('vault.documents.process');
CREATE TRIGGER vault_documents_trash_index_jobs AFTER UPDATE OF trashed_at ON vault_documents
FOR EACH ROW WHEN (NEW.trashed_at IS NOT NULL AND OLD.trashed_at IS NULL)
EXECUTE FUNCTION delete_jobs_of_row('vault.semantic.index');
-- @end
