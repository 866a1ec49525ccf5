-- Runs of pull requests: whether the code is that of a fork, and the approval of runs of people who are not known here.
ALTER TABLE forge_action_runs ADD COLUMN is_fork INTEGER NOT NULL DEFAULT 0;
ALTER TABLE forge_action_runs ADD COLUMN needs_approval INTEGER NOT NULL DEFAULT 0;
ALTER TABLE forge_action_runs ADD COLUMN approved_by INTEGER REFERENCES forge_users (id) ON DELETE SET NULL;
CREATE INDEX forge_action_runs_approved_by ON forge_action_runs (approved_by);
CREATE INDEX forge_action_runs_unapproved ON forge_action_runs (repository_id, ref) WHERE needs_approval = 1;
