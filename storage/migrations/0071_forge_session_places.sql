-- The browser and address that last used a session of the forge's pages, and when.
ALTER TABLE forge_web_sessions ADD COLUMN user_agent TEXT NOT NULL DEFAULT '';
ALTER TABLE forge_web_sessions ADD COLUMN address TEXT NOT NULL DEFAULT '';
ALTER TABLE forge_web_sessions ADD COLUMN used_at INTEGER;
