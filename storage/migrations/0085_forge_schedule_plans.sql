-- When the next time of a schedule was computed: one that a clock which was ahead has computed is computed again. The rows of
-- earlier versions are, too.
ALTER TABLE forge_action_schedules ADD COLUMN planned_at INTEGER NOT NULL DEFAULT 9007199254740991;
