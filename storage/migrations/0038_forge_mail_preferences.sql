-- Which mails an account gets about its runs: 'enabled', 'andyourown' (all of its own) or 'disabled'.
ALTER TABLE forge_users ADD COLUMN email_notifications TEXT NOT NULL DEFAULT 'enabled'
  CHECK (email_notifications IN ('enabled', 'andyourown', 'disabled'));
