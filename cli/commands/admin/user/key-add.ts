import { forge } from "../../../client/operations.ts";
import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import type { Command } from "commander";
import type { WirePublicKey } from "../../../../daemon/contract/forge/accounts/keys.ts";
import type { CliContext } from "../../../context.ts";
import { type Column, time } from "../../../output/cells.ts";
import { resourceOf } from "../../../output/spec.ts";

export const operations = [forge.addUserKey];
export const output = resourceOf(forge.addUserKey, 201);

/** What the command was given. */
export interface UserKeyAddOptions {
  readonly username: string;
  /** A path, or `-` for standard input. */
  readonly file: string;
  /** The file's name when absent. */
  readonly title?: string;
}

const columns: readonly Column<WirePublicKey>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "title", cell: ({ title }) => title },
  { header: "fingerprint", cell: ({ fingerprint }) => fingerprint },
  { header: "user", cell: ({ user }) => user.login },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
];

export function define(command: Command, cli: CliContext, run = runUserKeyAdd): void {
  command
    .argument("<username>", "the user's name")
    .argument("<file>", "a file with the public key; - is standard input")
    .option("--title <title>", "a title for the key; by default the file's name")
    .action((username: string, file: string, flags: { readonly title?: string }) =>
      run(cli, { username, file, ...flags }),
    );
}

/** Adds a public key to a user. */
async function runUserKeyAdd(cli: CliContext, options: UserKeyAddOptions): Promise<void> {
  const { username, file } = options;
  const key = await readKey(cli, file);
  const title = options.title ?? (file === "-" ? "standard input" : basename(file));
  const { body } = await cli.client.call(forge.addUserKey, {
    params: { username },
    body: { title, key },
  });
  await cli.output.resource(body, columns);
}

async function readKey(cli: CliContext, file: string): Promise<string> {
  if (file === "-") return cli.io.readInput(64 * 1024);
  return readFile(resolve(cli.system.workingDirectory, file), "utf8");
}
