-- A unit on which a team has explicitly no permission is stored as 0, so that it is read back. A missing unit is none, too.
CREATE TABLE forge_team_units_rebuilt (
  team_id INTEGER NOT NULL REFERENCES forge_teams (id) ON DELETE CASCADE,
  unit TEXT NOT NULL,
  access INTEGER NOT NULL CHECK (access BETWEEN 0 AND 2),
  PRIMARY KEY (team_id, unit)
) STRICT;
INSERT INTO forge_team_units_rebuilt (team_id, unit, access) SELECT team_id, unit, access FROM forge_team_units;
DROP TABLE forge_team_units;
ALTER TABLE forge_team_units_rebuilt RENAME TO forge_team_units;
