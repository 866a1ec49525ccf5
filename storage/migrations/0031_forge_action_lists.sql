-- Lists of runs by branch or commit, and of a repository's jobs by status, without reading the others.

CREATE INDEX forge_action_runs_ref ON forge_action_runs (repository_id, ref, id);
CREATE INDEX forge_action_runs_head ON forge_action_runs (repository_id, head_sha, id);
CREATE INDEX forge_action_jobs_state ON forge_action_jobs (repository_id, status, id);
