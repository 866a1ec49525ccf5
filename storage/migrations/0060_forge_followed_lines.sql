-- Where the line of a comment is after later pushes; followed_to is the commit that has it there, '' for the commit of the comment.
ALTER TABLE forge_review_lines ADD COLUMN current_line INTEGER;
ALTER TABLE forge_review_lines ADD COLUMN is_outdated INTEGER NOT NULL DEFAULT 0;
ALTER TABLE forge_review_lines ADD COLUMN followed_to TEXT NOT NULL DEFAULT '';
