-- Whether the server of a push mirror had all files of Git LFS that its commits name when it was last pushed to. Then the next push
-- looks at the commits that the server lacks only. The first push of each mirror of an earlier version looks at all of them.
ALTER TABLE forge_mirrors ADD COLUMN has_large_files INTEGER NOT NULL DEFAULT 0;
