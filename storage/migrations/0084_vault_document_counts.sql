-- How many documents a user has outside the trash: each page of their list tells it, and counting a million takes 40 ms.

ALTER TABLE vault_quotas ADD COLUMN documents INTEGER NOT NULL DEFAULT 0;
UPDATE vault_quotas SET documents = (
  SELECT count(*) FROM vault_documents WHERE vault_documents.user_id = vault_quotas.user_id AND trashed_at IS NULL
);

-- @sqlite
CREATE TRIGGER vault_documents_inserted AFTER INSERT ON vault_documents WHEN new.trashed_at IS NULL BEGIN
  UPDATE vault_quotas SET documents = documents + 1 WHERE user_id = new.user_id;
END;
CREATE TRIGGER vault_documents_deleted AFTER DELETE ON vault_documents WHEN old.trashed_at IS NULL BEGIN
  UPDATE vault_quotas SET documents = documents - 1 WHERE user_id = old.user_id;
END;
CREATE TRIGGER vault_documents_trashed_counts AFTER UPDATE OF trashed_at ON vault_documents
WHEN new.trashed_at IS NOT NULL AND old.trashed_at IS NULL BEGIN
  UPDATE vault_quotas SET documents = documents - 1 WHERE user_id = new.user_id;
END;
CREATE TRIGGER vault_documents_restored_counts AFTER UPDATE OF trashed_at ON vault_documents
WHEN new.trashed_at IS NULL AND old.trashed_at IS NOT NULL BEGIN
  UPDATE vault_quotas SET documents = documents + 1 WHERE user_id = new.user_id;
END;
-- @end

-- @postgres
CREATE FUNCTION count_document() RETURNS trigger AS $$
BEGIN
  UPDATE vault_quotas SET documents = documents + TG_ARGV[0]::integer
  WHERE user_id = CASE WHEN TG_OP = 'DELETE' THEN OLD.user_id ELSE NEW.user_id END;
  RETURN NULL;
END;
$$ LANGUAGE plpgsql;
CREATE TRIGGER vault_documents_inserted AFTER INSERT ON vault_documents
FOR EACH ROW WHEN (NEW.trashed_at IS NULL) EXECUTE FUNCTION count_document('1');
CREATE TRIGGER vault_documents_deleted AFTER DELETE ON vault_documents
FOR EACH ROW WHEN (OLD.trashed_at IS NULL) EXECUTE FUNCTION count_document('-1');
CREATE TRIGGER vault_documents_trashed_counts AFTER UPDATE OF trashed_at ON vault_documents
FOR EACH ROW WHEN (NEW.trashed_at IS NOT NULL AND OLD.trashed_at IS NULL) EXECUTE FUNCTION count_document('-1');
CREATE TRIGGER vault_documents_restored_counts AFTER UPDATE OF trashed_at ON vault_documents
FOR EACH ROW WHEN (NEW.trashed_at IS NULL AND OLD.trashed_at IS NOT NULL) EXECUTE FUNCTION count_document('1');
-- @end
