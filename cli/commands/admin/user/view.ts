import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { userColumns } from "./user-columns.ts";

export const operations = [forge.getUser];
export const output = resourceOf(forge.getUser);

export function define(command: Command, cli: CliContext, run = runUserView): void {
  command
    .argument("<username>", "the user's name")
    .action((username: string) => run(cli, { username }));
}

/** Prints one user. */
async function runUserView(
  cli: CliContext,
  { username }: { readonly username: string },
): Promise<void> {
  const { body } = await cli.client.call(forge.getUser, { params: { username } });
  await cli.output.resource(body, [
    ...userColumns,
    { header: "visibility", cell: ({ visibility }) => visibility },
    { header: "restricted", cell: ({ restricted }) => restricted },
    { header: "may not sign in", cell: ({ prohibit_login: prohibited }) => prohibited },
    { header: "location", cell: ({ location }) => location },
    { header: "website", cell: ({ website }) => website },
    { header: "description", cell: ({ description }) => description },
    { header: "page", cell: ({ html_url: url }) => url },
  ]);
}
