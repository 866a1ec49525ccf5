-- The version of an item that its analysis has read: another one makes the analysis stale.
ALTER TABLE vault_items ADD COLUMN analyzed_version TEXT;
UPDATE vault_items SET analyzed_version = version WHERE analysis_status IN ('ready', 'failed', 'unsupported');
