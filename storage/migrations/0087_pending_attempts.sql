-- Attempts to sign in whose check has not ended: `points` includes them until a right password or code takes them out. After
-- `pending_until` a check has ended without its result, as in a daemon that was killed, and counts as wrong.
ALTER TABLE rate_limits ADD COLUMN pending INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rate_limits ADD COLUMN pending_until INTEGER NOT NULL DEFAULT 0;
