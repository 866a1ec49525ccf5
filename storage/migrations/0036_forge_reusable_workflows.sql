-- Jobs that call another workflow, and the jobs of the workflow that they call.

-- the job that calls the workflow of this one, in the same run and attempt; null for jobs of the run's own file
ALTER TABLE forge_action_jobs ADD COLUMN parent_job_id INTEGER;
-- JSON: inputs of the called workflow and the combination of the matrix; null for jobs with steps
ALTER TABLE forge_action_jobs ADD COLUMN call_contexts TEXT;
