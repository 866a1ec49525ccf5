-- How many pushes of a repository have been recorded: what git said before another push was recorded is read again.
ALTER TABLE forge_repositories ADD COLUMN recorded_pushes INTEGER NOT NULL DEFAULT 0;
