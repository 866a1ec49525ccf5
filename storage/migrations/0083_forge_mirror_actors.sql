-- The person who set a mirror up: the places of mirrors are shared among people. Null once the account is gone.
ALTER TABLE forge_mirrors ADD COLUMN actor_id INTEGER REFERENCES forge_users (id) ON DELETE SET NULL;
CREATE INDEX forge_mirrors_actor ON forge_mirrors (actor_id);
