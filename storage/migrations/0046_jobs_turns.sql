-- The account that a job is done for. Some kinds of jobs are served in turns between accounts.
ALTER TABLE jobs ADD COLUMN account TEXT NOT NULL DEFAULT '';
CREATE INDEX jobs_turns ON jobs (kind, account, run_at, id) WHERE state = 'waiting';
