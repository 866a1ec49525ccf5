-- Rows of a log by step, expired logs, summaries of steps, and indexes for what expires.

-- the first row of the step in the log of its task, and how many rows it has
ALTER TABLE forge_action_steps ADD COLUMN log_index INTEGER NOT NULL DEFAULT 0;
ALTER TABLE forge_action_steps ADD COLUMN log_length INTEGER NOT NULL DEFAULT 0;

ALTER TABLE forge_action_tasks ADD COLUMN is_log_expired INTEGER NOT NULL DEFAULT 0;
CREATE INDEX forge_action_tasks_completed ON forge_action_tasks (is_log_expired, completed_at);
CREATE INDEX forge_action_runs_completed ON forge_action_runs (completed_at);

-- Markdown that steps write for the page of their run.
CREATE TABLE forge_action_summaries (
  task_id INTEGER NOT NULL REFERENCES forge_action_tasks (id) ON DELETE CASCADE,
  -- of the step, from 0
  number INTEGER NOT NULL,
  content TEXT NOT NULL,
  -- of the content, in bytes
  size INTEGER NOT NULL,
  PRIMARY KEY (task_id, number)
) STRICT;
