-- The forge's packages. The bytes of a file are an object named by their SHA-256; several files may share one.

CREATE TABLE forge_packages (
  id INTEGER PRIMARY KEY,
  -- No cascade: an owner cannot go while a package is left.
  owner_id INTEGER NOT NULL REFERENCES forge_users (id),
  type TEXT NOT NULL,
  name TEXT NOT NULL,
  lower_name TEXT NOT NULL,
  -- The repository that it is linked to.
  repository_id INTEGER REFERENCES forge_repositories (id) ON DELETE SET NULL,
  -- Grows with every change of the package, so that a client can be told that what it read is out of date.
  revision INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (owner_id, type, lower_name)
) STRICT;
CREATE INDEX forge_packages_repository ON forge_packages (repository_id);

-- The names by groups of three letters: a term of three or more is found without reading every row.
-- @sqlite
CREATE VIRTUAL TABLE forge_package_grams USING fts5 (
  lower_name, content = 'forge_packages', content_rowid = 'id', tokenize = 'trigram'
);
-- @end

-- How many versions there are of each type, so that a list need not count them.
CREATE TABLE forge_package_totals (
  type TEXT NOT NULL PRIMARY KEY,
  versions INTEGER NOT NULL
) STRICT;

CREATE TABLE forge_package_versions (
  id INTEGER PRIMARY KEY,
  package_id INTEGER NOT NULL REFERENCES forge_packages (id) ON DELETE CASCADE,
  -- the package's, so that lists of one type need no look at the packages
  type TEXT NOT NULL,
  -- NULL once the account is gone
  creator_id INTEGER REFERENCES forge_users (id) ON DELETE SET NULL,
  version TEXT NOT NULL,
  lower_version TEXT NOT NULL,
  -- JSON: what the type keeps about a version
  metadata TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (package_id, lower_version)
) STRICT;
CREATE INDEX forge_package_versions_newest ON forge_package_versions (created_at, id);
CREATE INDEX forge_package_versions_type ON forge_package_versions (type, created_at, id);
CREATE INDEX forge_package_versions_creator ON forge_package_versions (creator_id);

CREATE TABLE forge_package_files (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  version_id INTEGER NOT NULL REFERENCES forge_package_versions (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  lower_name TEXT NOT NULL,
  size INTEGER NOT NULL,
  -- lower-case hex; names the object
  sha256 TEXT NOT NULL,
  sha512 TEXT NOT NULL,
  sha1 TEXT NOT NULL,
  md5 TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (version_id, lower_name)
) STRICT;
CREATE INDEX forge_package_files_object ON forge_package_files (sha256);

-- Names for versions, such as npm's dist-tags.
CREATE TABLE forge_package_tags (
  package_id INTEGER NOT NULL REFERENCES forge_packages (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  version_id INTEGER NOT NULL REFERENCES forge_package_versions (id) ON DELETE CASCADE,
  PRIMARY KEY (package_id, name)
) STRICT;
CREATE INDEX forge_package_tags_version ON forge_package_tags (version_id);

-- One row. Ids of packages and of versions are never used twice, even after the newest is gone. It grows with every
-- version that comes or goes, so that what was remembered about the order of a list can be told to be out of date.
CREATE TABLE forge_package_state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  last_id INTEGER NOT NULL
) STRICT;
INSERT INTO forge_package_state (id, last_id) VALUES (1, 0);
