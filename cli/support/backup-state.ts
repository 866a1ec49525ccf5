import type { CliContext } from "../context.ts";

/** The state of a daemon's latest scheduled backup. */
const STATES = ["running", "succeeded", "failed", "interrupted"] as const;
type BackupState = (typeof STATES)[number];

/**
 * Asks the daemon for the state of its latest scheduled backup. Returns undefined before the first one, and if none are
 * scheduled. @throws CliError when the daemon cannot be reached
 */
export async function readBackupState(cli: CliContext): Promise<BackupState | undefined> {
  const { body } = await cli.client.probe("/readyz");
  const word = /"backup":\s*"(\w+)"/.exec(body.toString())?.[1];
  return STATES.find((state) => state === word);
}

/** Where the reason of a failed backup is: the API for tasks does not report it. */
export const BACKUP_LOG_HINT =
  '"croft daemon logs --level warn" shows the reason, on the machine of the daemon';
