-- Hooks of users and organizations, which fire for all of their repositories.

-- Set for a hook of an owner, whose scope is 'repository' and whose repository_id is null. Null once the owner is gone.
ALTER TABLE forge_hooks ADD COLUMN owner_id INTEGER REFERENCES forge_users (id) ON DELETE SET NULL;
CREATE INDEX forge_hooks_owner ON forge_hooks (owner_id);
