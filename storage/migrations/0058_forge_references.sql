-- The issues and comments whose texts name an issue, beside its entry in the timeline.
ALTER TABLE forge_issue_comments ADD COLUMN ref_issue_id INTEGER REFERENCES forge_issues (id) ON DELETE CASCADE;
ALTER TABLE forge_issue_comments ADD COLUMN ref_comment_id INTEGER REFERENCES forge_issue_comments (id) ON DELETE CASCADE;
CREATE UNIQUE INDEX forge_issue_comments_reference ON forge_issue_comments (issue_id, ref_issue_id, COALESCE(ref_comment_id, 0)) WHERE ref_issue_id IS NOT NULL;
CREATE INDEX forge_issue_comments_ref_issue ON forge_issue_comments (ref_issue_id) WHERE ref_issue_id IS NOT NULL;
CREATE INDEX forge_issue_comments_ref_comment ON forge_issue_comments (ref_comment_id) WHERE ref_comment_id IS NOT NULL;
