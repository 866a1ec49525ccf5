import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { listOf, shape } from "../output/spec.ts";
import { personColumns } from "../support/person.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List the members of an organization", () => listMembers, { aliases: ["ls"] }),
  verb("remove", "Remove a member from an organization and its teams", () => removeMember, {
    aliases: ["rm"],
  }),
  verb("publicize", "Show a membership to everyone", () => publicize),
  verb("conceal", "Hide a membership from non-members", () => conceal),
];

const organizationArgument = ["<organization>", "the organization"] as const;
const userArgument = ["<username>", "the member"] as const;

const listMembers = {
  operations: [forge.listMembers, forge.listPublicMembers],
  output: listOf(forge.listMembers),
  define(command, cli, run = runList): void {
    command
      .argument(...organizationArgument)
      .option("--public", "list only those who show their membership")
      .action((org: string, flags: { readonly public?: true }) =>
        run(cli, org, flags.public === true),
      );
  },
} satisfies CommandModule;

/** Prints the members that the caller may see, by name. */
async function runList(cli: CliContext, org: string, isPublic: boolean): Promise<void> {
  const pages = isPublic
    ? forgePages(cli.client, forge.listPublicMembers, { params: { org } })
    : forgePages(cli.client, forge.listMembers, { params: { org } });
  await cli.output.list(pages, personColumns);
}

const removeMember = {
  operations: [forge.deleteMember],
  output: shape({ removed: "boolean", username: "string" }),
  destructive: true,
  define(command, cli, run = runRemove): void {
    command
      .argument(...organizationArgument)
      .argument(...userArgument)
      .action((org: string, username: string) => run(cli, org, username));
  },
} satisfies CommandModule;

/** Removes a member; a user may remove themselves. */
async function runRemove(cli: CliContext, org: string, username: string): Promise<void> {
  await cli.prompts.confirm(`Remove ${username} from ${org} and all of its teams?`);
  await cli.client.call(forge.deleteMember, { params: { org, member: username } });
  await cli.output.done({ removed: true, username }, `${username} is not a member of ${org}.`);
}

const publicize = {
  operations: [forge.publicizeMember],
  output: shape({ public: "boolean", username: "string" }),
  define(command, cli, run = runPublicize): void {
    command
      .argument(...organizationArgument)
      .argument(...userArgument)
      .action((org: string, username: string) => run(cli, org, username));
  },
} satisfies CommandModule;

/** Makes a membership public. */
async function runPublicize(cli: CliContext, org: string, username: string): Promise<void> {
  await cli.client.call(forge.publicizeMember, { params: { org, member: username } });
  await cli.output.done(
    { public: true, username },
    `Everyone sees that ${username} is a member of ${org}.`,
  );
}

const conceal = {
  operations: [forge.concealMember],
  output: shape({ public: "boolean", username: "string" }),
  destructive: true,
  define(command, cli, run = runConceal): void {
    command
      .argument(...organizationArgument)
      .argument(...userArgument)
      .action((org: string, username: string) => run(cli, org, username));
  },
} satisfies CommandModule;

/** Makes a membership private. */
async function runConceal(cli: CliContext, org: string, username: string): Promise<void> {
  await cli.prompts.confirm(`Hide that ${username} is a member of ${org}?`);
  await cli.client.call(forge.concealMember, { params: { org, member: username } });
  await cli.output.done(
    { public: false, username },
    `Only members see that ${username} is a member of ${org}.`,
  );
}
