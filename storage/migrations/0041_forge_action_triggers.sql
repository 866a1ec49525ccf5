-- Repositories whose workflows were pushed before events were kept: a job reads the files of all default branches once.

INSERT INTO jobs (kind, payload, key, state, run_at, attempts, created_at, updated_at)
SELECT 'forge.actions.triggers.all', '{"after":0}', '0', 'waiting', 0, 0, 0, 0
WHERE EXISTS (SELECT 1 FROM forge_repositories WHERE is_empty = 0);
