import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import { listOf, shape } from "../output/spec.ts";
import { personColumns } from "../support/person.ts";
import type { Entry } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

const organizationArgument = { "<organization>": "the organization" } as const;

const userArgument = { "<username>": "the member" } as const;

export const entries: readonly Entry[] = [
  command("list", "List the members of an organization", {
    aliases: ["ls"],
    args: organizationArgument,
    flags: { "--public": "list only those who show their membership" },
    calls: [forge.listMembers, forge.listPublicMembers],
    output: listOf(forge.listMembers),
    examples: [
      ["List the members", "croft org member list acme"],
      ["List those who show their membership", "croft org member list acme --public"],
    ],
    /** Prints the members that the caller may see, by name. */
    async run(cli, { organization: org, public: isPublic = false }) {
      const pages = isPublic
        ? forgePages(cli.client, forge.listPublicMembers, { params: { org } })
        : forgePages(cli.client, forge.listMembers, { params: { org } });
      await cli.output.list(pages, personColumns);
    },
  }),
  command("remove", "Remove a member from an organization and its teams", {
    aliases: ["rm"],
    args: { ...organizationArgument, ...userArgument },
    calls: [forge.deleteMember],
    output: shape({ removed: "boolean", username: "string" }),
    destructive: true,
    examples: [
      ["Remove a member", "croft org member remove acme mira --yes"],
      ["Show the request only", "croft org member remove acme mira --dry-run"],
    ],
    /** Removes a member; a user may remove themselves. */
    async run(cli, { organization: org, username }) {
      await cli.prompts.confirm(`Remove ${username} from ${org} and all of its teams?`);
      await cli.client.call(forge.deleteMember, { params: { org, member: username } });
      await cli.output.done({ removed: true, username }, `${username} is not a member of ${org}.`);
    },
  }),
  command("publicize", "Show a membership to everyone", {
    args: { ...organizationArgument, ...userArgument },
    calls: [forge.publicizeMember],
    output: shape({ public: "boolean", username: "string" }),
    examples: [
      ["Show your membership to everyone", "croft org member publicize acme mira"],
      ["Show the request only", "croft org member publicize acme mira --dry-run"],
    ],
    /** Makes a membership public. */
    async run(cli, { organization: org, username }) {
      await cli.client.call(forge.publicizeMember, { params: { org, member: username } });
      await cli.output.done(
        { public: true, username },
        `Everyone sees that ${username} is a member of ${org}.`,
      );
    },
  }),
  command("conceal", "Hide a membership from non-members", {
    args: { ...organizationArgument, ...userArgument },
    calls: [forge.concealMember],
    output: shape({ public: "boolean", username: "string" }),
    destructive: true,
    examples: [
      ["Hide your membership", "croft org member conceal acme mira --yes"],
      ["Show the request only", "croft org member conceal acme mira --dry-run"],
    ],
    /** Makes a membership private. */
    async run(cli, { organization: org, username }) {
      await cli.prompts.confirm(`Hide that ${username} is a member of ${org}?`);
      await cli.client.call(forge.concealMember, { params: { org, member: username } });
      await cli.output.done(
        { public: false, username },
        `Only members see that ${username} is a member of ${org}.`,
      );
    },
  }),
];
