import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { listOf } from "../output/spec.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List the organizations that you are a member of", () => listOrganizations, {
    aliases: ["ls"],
  }),
];

const listOrganizations = {
  operations: [forge.listOwnOrganizations],
  output: listOf(forge.listOwnOrganizations),
  define(command, cli, run = runOrgList): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints the caller's organizations, by name. */
async function runOrgList(cli: CliContext): Promise<void> {
  await cli.output.list(forgePages(cli.client, forge.listOwnOrganizations, {}), [
    { header: "id", cell: ({ id }) => id },
    { header: "name", cell: ({ name }) => name },
    { header: "full name", cell: ({ full_name: fullName }) => fullName },
    { header: "visibility", cell: ({ visibility }) => visibility },
  ]);
}
