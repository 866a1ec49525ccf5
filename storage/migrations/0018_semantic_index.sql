-- Index jobs of a document or item that is deleted go with it.

-- @sqlite
CREATE TRIGGER vault_documents_index_jobs AFTER DELETE ON vault_documents BEGIN
  DELETE FROM jobs WHERE kind = 'vault.semantic.index' AND key = old.id AND state = 'waiting';
  DELETE FROM jobs WHERE kind = 'vault.semantic.index' AND key = old.id AND state = 'dead';
END;

CREATE TRIGGER vault_items_index_jobs AFTER DELETE ON vault_items BEGIN
  DELETE FROM jobs WHERE kind = 'vault.semantic.index' AND key = old.id AND state = 'waiting';
  DELETE FROM jobs WHERE kind = 'vault.semantic.index' AND key = old.id AND state = 'dead';
END;
-- @end

-- @postgres
CREATE TRIGGER vault_documents_index_jobs AFTER DELETE ON vault_documents
FOR EACH ROW EXECUTE FUNCTION delete_jobs_of_row('vault.semantic.index');

CREATE TRIGGER vault_items_index_jobs AFTER DELETE ON vault_items
FOR EACH ROW EXECUTE FUNCTION delete_jobs_of_row('vault.semantic.index');
-- @end
