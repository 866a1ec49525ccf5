import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import { listOf, shape } from "../output/spec.ts";
import { personColumns } from "../support/person.ts";
import { command } from "../tree/command.ts";
import type { Entry } from "../tree/entry.ts";

const userArgument = { "<username>": "the user's name" } as const;
const orgFlag = { "--org <name>": "for an organization that you own" } as const;
const output = shape({ blocked: "boolean", username: "string" });

export const entries: readonly Entry[] = [
  command("list", "List the users whom you or an organization have blocked", {
    aliases: ["ls"],
    flags: orgFlag,
    calls: [forge.listOwnBlocks, forge.listOrganizationBlocks],
    output: listOf(forge.listOwnBlocks),
    examples: [
      ["List whom you have blocked", "croft user block list"],
      ["List whom an organization has blocked", "croft user block list --org acme"],
    ],
    async run(cli, { org }) {
      const pages =
        org === undefined
          ? forgePages(cli.client, forge.listOwnBlocks, {})
          : forgePages(cli.client, forge.listOrganizationBlocks, { params: { org } });
      await cli.output.list(pages, personColumns);
    },
  }),
  command("add", "Block a user from your repositories and issues", {
    args: userArgument,
    flags: { ...orgFlag, "--note <text>": "why, for yourself" },
    calls: [forge.blockUser, forge.blockOfOrganization],
    output,
    examples: [
      ["Block a user", "croft user block add spammer"],
      ["Block a user for an organization", "croft user block add spammer --org acme"],
    ],
    /** Ends what binds both users, too: follows, stars, watches and collaborations. */
    async run(cli, { username, org, note = "" }) {
      const query = { note };
      if (org === undefined)
        await cli.client.call(forge.blockUser, { params: { username }, query });
      else await cli.client.call(forge.blockOfOrganization, { params: { org, username }, query });
      await cli.output.done({ blocked: true, username }, `Blocked ${username}.`);
    },
  }),
  command("remove", "Unblock a user", {
    aliases: ["rm"],
    args: userArgument,
    flags: orgFlag,
    calls: [forge.unblockUser, forge.unblockOfOrganization],
    output,
    /** Unblocking can be undone, so it needs no confirmation. */
    destructive: false,
    examples: [
      ["Unblock a user", "croft user block remove spammer"],
      ["Unblock a user for an organization", "croft user block remove spammer --org acme"],
    ],
    async run(cli, { username, org }) {
      if (org === undefined) await cli.client.call(forge.unblockUser, { params: { username } });
      else await cli.client.call(forge.unblockOfOrganization, { params: { org, username } });
      await cli.output.done({ blocked: false, username }, `Unblocked ${username}.`);
    },
  }),
];
