-- The commit of the base onto which a pull request was merged, which a revert brings back. Null for a merge by hand.
ALTER TABLE forge_pulls ADD COLUMN merged_onto TEXT;
ALTER TABLE forge_pull_merges ADD COLUMN merged_onto TEXT;
