-- The daemon that sends a complete upload to the provider: of several on one database, one at a time.
ALTER TABLE vault_uploads ADD COLUMN claimed_by TEXT;
ALTER TABLE vault_uploads ADD COLUMN claimed_until INTEGER;
