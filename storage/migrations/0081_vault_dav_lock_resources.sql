-- The document or item that a lock of a file is on: it holds at every path of the file. Null for a folder, and for a file that has no row.
ALTER TABLE vault_dav_locks ADD COLUMN resource_id TEXT;
