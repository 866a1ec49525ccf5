import type { z } from "zod";
import type { session } from "../../../daemon/contract/vault/auth.ts";
import { vault } from "../../client/operations.ts";
import { vaultPages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { usageError } from "../../errors.ts";
import { type Column, time } from "../../output/cells.ts";
import { listOf, shape } from "../../output/spec.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List your sessions", () => listSessions, { aliases: ["ls"] }),
  verb("revoke", "Revoke one session or all of them", () => revokeSessions),
];

const listSessions = {
  operations: [vault.listSessions],
  output: listOf(vault.listSessions, "items"),
  define(command, cli, run = runSessionList): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints the caller's sessions, the one used last first. */
async function runSessionList(cli: CliContext): Promise<void> {
  await cli.output.list(vaultPages(cli.client, vault.listSessions, {}), columns);
}

const columns: readonly Column<z.output<typeof session>>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "this one", cell: ({ current }) => current },
  { header: "address", cell: ({ ip_address: address }) => address },
  { header: "program", cell: ({ user_agent: program }) => program },
  { header: "last used", cell: ({ last_used_at: lastUsed }) => time(lastUsed) },
  { header: "signed in", cell: ({ created_at: created }) => time(created) },
];

/** One session, or all of them. */
export type SessionRevokeOptions = { readonly id: string } | { readonly everywhere: true };

export const revokeSessions = {
  operations: [vault.deleteSession, vault.logoutAll],
  output: shape({ revoked: "integer", id: "string?" }),
  // Signing in again brings a session back.
  destructive: false,
  define(command, cli, run = runSessionRevoke): void {
    command
      .argument("[id]", 'the session\'s id, as "croft vault session list" shows it')
      .option("--everywhere", "end all sessions, this one too")
      .action((id: string | undefined, { everywhere }: { readonly everywhere?: true }) => {
        if ((id === undefined) === (everywhere === undefined))
          throw usageError("give the id of a session, or --everywhere");
        return run(cli, id === undefined ? { everywhere: true } : { id });
      });
  },
} satisfies CommandModule;

/** Ends one session of the caller, or all. After revoking all, deletes the local credentials. */
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

/** Returns a sentence with the number of revoked sessions. */
export function toEndedText(count: number): string {
  if (count === 0) return "No other session was open.";
  return count === 1 ? "One other session has ended." : `${count} other sessions have ended.`;
}
