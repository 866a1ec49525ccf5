import type { z } from "zod";
import type { session } from "../../../daemon/contract/vault/auth.ts";
import { vault } from "../../client/operations.ts";
import { vaultPages } from "../../client/paging.ts";
import { usageError } from "../../errors.ts";
import { type Column, time } from "../../output/cells.ts";
import { listOf, shape } from "../../output/spec.ts";
import type { Entry } from "../../tree/entry.ts";
import { command } from "../../tree/command.ts";

export const entries: readonly Entry[] = [
  command("list", "List your sessions", {
    aliases: ["ls"],
    calls: [vault.listSessions],
    output: listOf(vault.listSessions, "items"),
    examples: [
      ["List your sessions", "croft vault session list"],
      ["Print them as JSON", "croft vault session list --json"],
    ],
    /** Prints the caller's sessions, the one used last first. */
    async run(cli) {
      await cli.output.list(vaultPages(cli.client, vault.listSessions, {}), columns);
    },
  }),
  command("revoke", "Revoke one session or all of them", {
    args: { "[id]": 'the session\'s id, as "croft vault session list" shows it' },
    flags: { "--everywhere": "end all sessions, this one too" },
    calls: [vault.deleteSession, vault.logoutAll],
    output: shape({ revoked: "integer", id: "string?" }),
    // Signing in again brings a session back.
    destructive: false,
    examples: [
      ["Revoke one session", "croft vault session revoke 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8"],
      ["Revoke all sessions, this one too", "croft vault session revoke --everywhere"],
    ],
    /** Ends one session of the caller, or all. After revoking all, deletes the local credentials. */
    async run(cli, { id, everywhere }) {
      if ((id === undefined) === (everywhere === undefined))
        throw usageError("give the id of a session, or --everywhere");
      const options = id === undefined ? { everywhere: true } : { id };

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
    },
  }),
];

const columns: readonly Column<z.output<typeof session>>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "this one", cell: ({ current }) => current },
  { header: "address", cell: ({ ip_address: address }) => address },
  { header: "program", cell: ({ user_agent: program }) => program },
  { header: "last used", cell: ({ last_used_at: lastUsed }) => time(lastUsed) },
  { header: "signed in", cell: ({ created_at: created }) => time(created) },
];

/** Returns a sentence with the number of revoked sessions. */
export function toEndedText(count: number): string {
  if (count === 0) return "No other session was open.";
  return count === 1 ? "One other session has ended." : `${count} other sessions have ended.`;
}
