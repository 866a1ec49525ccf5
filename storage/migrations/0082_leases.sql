-- What one of several daemons does alone for a while, such as creating a folder of a name at a provider.
CREATE TABLE leases (
  name TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  leased_until INTEGER NOT NULL
) STRICT;
