import type { Command } from "commander";
import type { unlinkPackage as unlinkPackageEndpoint } from "../../../../daemon/contract/forge/packages/admin-packages.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";

const unlinkPackage = operation<typeof unlinkPackageEndpoint>(
  "forge.packages.unlink",
  "POST",
  "/api/v1/packages/:owner/:type/:name/-/unlink",
);

export const operations = [unlinkPackage];
export const output = shape({
  unlinked: "boolean",
  owner: "string",
  type: "string",
  name: "string",
});

/** What the command was given. */
export interface PackageUnlinkOptions {
  readonly owner: string;
  readonly type: string;
  readonly name: string;
}

export function define(command: Command, cli: CliContext, run = runPackageUnlink): void {
  command
    .argument("<owner>", "the user or organization")
    .argument("<type>", "such as generic or npm")
    .argument("<name>", "the package, with its scope if it has one")
    .action((owner: string, type: string, name: string) => run(cli, { owner, type, name }));
}

/** Links a package to no repository any more. */
async function runPackageUnlink(cli: CliContext, options: PackageUnlinkOptions): Promise<void> {
  const { owner, type, name } = options;
  await cli.client.call(unlinkPackage, { params: { owner, type, name } });
  const what = `${type} package ${name} of ${owner}`;
  await cli.output.done({ unlinked: true, ...options }, `Unlinked the ${what}.`);
}
