-- Local folders belong to accounts, sign-ins at vendors belong to a browser, connections keep what they can do.

-- The account that the folder `<local root>/<handle>` belongs to. No foreign key: the row outlives the account, so that a
-- later account with the same handle gets no access to the folder.
CREATE TABLE vault_local_folder_owners (
  handle_key TEXT PRIMARY KEY,
  user_id TEXT NOT NULL
) STRICT;

-- Handles of accounts that were deleted: the record of a deletion has the handle as its only metadata.
INSERT INTO vault_local_folder_owners (handle_key, user_id)
SELECT lower(substr(metadata, 12, length(metadata) - 13)), max(user_id)
FROM vault_audit
WHERE event_type = 'admin.user_deleted' AND user_id IS NOT NULL AND metadata LIKE '{"handle":"%"}'
GROUP BY lower(substr(metadata, 12, length(metadata) - 13));

-- Folders below the local roots that an administrator granted to an account, as absolute paths.
CREATE TABLE vault_local_folder_grants (
  user_id TEXT NOT NULL REFERENCES vault_users (id) ON DELETE CASCADE,
  folder TEXT NOT NULL,
  PRIMARY KEY (user_id, folder)
) STRICT;

-- 1: made before folders belonged to accounts; its root is resolved below the local roots
ALTER TABLE vault_connections ADD COLUMN is_below_local_roots INTEGER NOT NULL DEFAULT 0
  CHECK (is_below_local_roots IN (0, 1));
UPDATE vault_connections SET is_below_local_roots = 1 WHERE provider = 'local_folder';

-- JSON object: what the storage can do, as found by the trial at connecting; null to find out again
ALTER TABLE vault_connections ADD COLUMN capabilities TEXT;

-- Sign-ins that are in progress cannot be bound to a browser afterwards.
DELETE FROM vault_oauth_states;
-- SHA-256 of the cookie of the browser that opened the start page; null until then
ALTER TABLE vault_oauth_states ADD COLUMN browser_hash TEXT;
-- SHA-256 of the token that connects; set when the vendor has sent the browser back
ALTER TABLE vault_oauth_states ADD COLUMN confirm_hash TEXT;
