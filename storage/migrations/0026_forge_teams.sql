-- Teams that owners of organizations make: what they may do, and with which repositories.
ALTER TABLE forge_teams ADD COLUMN description TEXT NOT NULL DEFAULT '';
-- 0 public, 1 limited, 2 private
ALTER TABLE forge_teams ADD COLUMN visibility INTEGER NOT NULL DEFAULT 2;

-- Permissions of a team that does not administer repositories: 1 read, 2 write. A missing unit is none.
CREATE TABLE forge_team_units (
  team_id INTEGER NOT NULL REFERENCES forge_teams (id) ON DELETE CASCADE,
  unit TEXT NOT NULL,
  access INTEGER NOT NULL CHECK (access BETWEEN 1 AND 2),
  PRIMARY KEY (team_id, unit)
) STRICT;

-- Repositories of a team that does not include all.
CREATE TABLE forge_team_repositories (
  team_id INTEGER NOT NULL REFERENCES forge_teams (id) ON DELETE CASCADE,
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  PRIMARY KEY (team_id, repository_id)
) STRICT;
CREATE INDEX forge_team_repositories_repository ON forge_team_repositories (repository_id);

-- Ids of teams are never used twice, because clients keep them.
ALTER TABLE forge_people_state ADD COLUMN last_team_id INTEGER NOT NULL DEFAULT 0;
UPDATE forge_people_state SET last_team_id = (SELECT COALESCE(MAX(id), 0) FROM forge_teams);
