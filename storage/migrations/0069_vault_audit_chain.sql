-- The audit trail as a chain of hashes: each record has the SHA-256 of its content and of the hash before it.

-- Null on records from before the chain, which nothing protects.
ALTER TABLE vault_audit ADD COLUMN position INTEGER;
-- 64 hexadecimal digits
ALTER TABLE vault_audit ADD COLUMN hash TEXT;
CREATE UNIQUE INDEX vault_audit_position ON vault_audit (position);

-- One row: both ends of the chain. Each transaction that adds records updates it, so they form one chain.
CREATE TABLE vault_audit_chain (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  -- The last record.
  position INTEGER NOT NULL CHECK (position >= start_position),
  hash TEXT NOT NULL,
  -- The last record that retention removed: the chain starts after it. 0 and zeros before the first removal.
  start_position INTEGER NOT NULL,
  start_hash TEXT NOT NULL,
  -- The records up to this id are from before the chain.
  unchained_id INTEGER NOT NULL
) STRICT;

INSERT INTO vault_audit_chain (id, position, hash, start_position, start_hash, unchained_id)
SELECT 1, 0, '0000000000000000000000000000000000000000000000000000000000000000', 0,
  '0000000000000000000000000000000000000000000000000000000000000000', coalesce(max(id), 0)
FROM vault_audit;

-- The last record of the chain at the end of each day in UTC. These rows outlive the records.
CREATE TABLE vault_audit_heads (
  -- YYYY-MM-DD
  day TEXT PRIMARY KEY,
  position INTEGER NOT NULL,
  hash TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
