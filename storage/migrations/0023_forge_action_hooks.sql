-- What webhooks and notifications say of runs.

-- where the file is, such as .github/workflows
ALTER TABLE forge_action_runs ADD COLUMN workflow_folder TEXT NOT NULL DEFAULT '.gitea/workflows';
-- finds the run before another one of the same workflow and branch
CREATE INDEX forge_action_runs_workflow ON forge_action_runs (repository_id, workflow_file, ref, id);
