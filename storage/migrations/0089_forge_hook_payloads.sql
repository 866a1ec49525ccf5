-- Payloads of webhooks: one for all deliveries of an event, deleted with the last of them.
CREATE TABLE forge_hook_payloads (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- JSON text as it is signed and sent by hooks of the kind gitea; chat kinds are rendered from it.
  payload TEXT NOT NULL
) STRICT;
-- Null for deliveries of earlier versions: their payload is in the row.
ALTER TABLE forge_hook_deliveries ADD COLUMN payload_id INTEGER REFERENCES forge_hook_payloads (id);
CREATE INDEX forge_hook_deliveries_payload ON forge_hook_deliveries (payload_id) WHERE payload_id IS NOT NULL;

-- 1 for a hook that was deleted, whose secrets are gone: its deliveries are deleted in portions, and then its row.
ALTER TABLE forge_hooks ADD COLUMN is_deleted INTEGER NOT NULL DEFAULT 0 CHECK (is_deleted IN (0, 1));
CREATE INDEX forge_hooks_deleted ON forge_hooks (id) WHERE is_deleted = 1;
