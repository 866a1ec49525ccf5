import type { Command } from "commander";
import type { getUser as getUserEndpoint } from "../../../../daemon/contract/forge/accounts/users.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { userColumns } from "./user-columns.ts";

const getUser = operation<typeof getUserEndpoint>(
  "forge.users.get",
  "GET",
  "/api/v1/users/:username",
);

export const operations = [getUser];
export const output = resourceOf(getUser);

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
  const { body } = await cli.client.call(getUser, { params: { username } });
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
