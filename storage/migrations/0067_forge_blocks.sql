-- Users whom a user or an organization has blocked.
CREATE TABLE forge_blocks (
  blocker_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  blocked_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  note TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (blocker_id, blocked_id)
) STRICT;
CREATE INDEX forge_blocks_blocked ON forge_blocks (blocked_id);
