-- Jobs of a document or item that is deleted go with it, by whatever way it is deleted. A running job finds nothing to do.

CREATE INDEX jobs_dead_key ON jobs (kind, key) WHERE state = 'dead' AND key IS NOT NULL;

-- @sqlite
CREATE TRIGGER vault_documents_jobs AFTER DELETE ON vault_documents BEGIN
  DELETE FROM jobs WHERE kind = 'vault.documents.process' AND key = old.id AND state = 'waiting';
  DELETE FROM jobs WHERE kind = 'vault.documents.process' AND key = old.id AND state = 'dead';
END;

CREATE TRIGGER vault_items_jobs AFTER DELETE ON vault_items BEGIN
  DELETE FROM jobs WHERE kind = 'cloud.analyze' AND key = old.id AND state = 'waiting';
  DELETE FROM jobs WHERE kind = 'cloud.analyze' AND key = old.id AND state = 'dead';
END;

CREATE TRIGGER vault_items_soft_jobs AFTER UPDATE OF deleted_at ON vault_items
WHEN new.deleted_at IS NOT NULL AND old.deleted_at IS NULL BEGIN
  DELETE FROM jobs WHERE kind = 'cloud.analyze' AND key = old.id AND state = 'waiting';
  DELETE FROM jobs WHERE kind = 'cloud.analyze' AND key = old.id AND state = 'dead';
END;
-- @end

-- @postgres
CREATE FUNCTION delete_jobs_of_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM jobs WHERE kind = TG_ARGV[0] AND key = OLD.id AND state <> 'running';
  RETURN NULL;
END
$$;

CREATE TRIGGER vault_documents_jobs AFTER DELETE ON vault_documents
FOR EACH ROW EXECUTE FUNCTION delete_jobs_of_row('vault.documents.process');

CREATE TRIGGER vault_items_jobs AFTER DELETE ON vault_items
FOR EACH ROW EXECUTE FUNCTION delete_jobs_of_row('cloud.analyze');

CREATE TRIGGER vault_items_soft_jobs AFTER UPDATE OF deleted_at ON vault_items
FOR EACH ROW WHEN (NEW.deleted_at IS NOT NULL AND OLD.deleted_at IS NULL)
EXECUTE FUNCTION delete_jobs_of_row('cloud.analyze');
-- @end
