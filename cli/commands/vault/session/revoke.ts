import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { usageError } from "../../../errors.ts";
import { shape } from "../../../output/spec.ts";

export const operations = [vault.deleteSession, vault.logoutAll];
export const output = shape({ revoked: "integer", id: "string?" });
// Signing in again brings a session back.
export const destructive = false;

/** What the command was given: one session, or all of them. */
export type SessionRevokeOptions = { readonly id: string } | { readonly everywhere: true };

export function define(command: Command, cli: CliContext, run = runSessionRevoke): void {
  command
    .argument("[id]", 'the session\'s id, as "croft vault session list" shows it')
    .option("--everywhere", "end all sessions, this one too")
    .action((id: string | undefined, { everywhere }: { readonly everywhere?: true }) => {
      if ((id === undefined) === (everywhere === undefined))
        throw usageError("give the id of a session, or --everywhere");
      return run(cli, id === undefined ? { everywhere: true } : { id });
    });
}

/** Ends one session of the caller, or all. After all have ended, the credentials kept here are forgotten. */
async function runSessionRevoke(cli: CliContext, options: SessionRevokeOptions): Promise<void> {
  if ("id" in options) {
    const { id } = options;
    await cli.client.call(vault.deleteSession, { params: { id } });
    return cli.output.done({ revoked: 1, id }, `Ended the session ${id}.`);
  }
  const { body } = await cli.client.call(vault.logoutAll);
  const profile = await cli.profiles.inUse();
  await cli.credentials.remove(profile, "vault");
  await cli.profiles.updateProfile(profile.name, (one) => ({ ...one, vault: null }));
  await cli.output.done({ revoked: body.sessions_revoked, id: null }, body.message);
}
