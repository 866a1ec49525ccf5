-- The keys by which SSH clients know this server.
CREATE TABLE forge_ssh_host_keys (
  type TEXT NOT NULL PRIMARY KEY,
  -- Sealed: the private key.
  sealed_key TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
