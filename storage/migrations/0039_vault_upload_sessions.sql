-- The session at the provider that receives the bytes of a complete upload.

ALTER TABLE vault_uploads ADD COLUMN sealed_session TEXT;
