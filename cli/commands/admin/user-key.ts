import { forge } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { resourceOf, shape } from "../../output/spec.ts";
import { keyColumns, readKeyFile, toKeyTitle } from "../../support/public-key.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("add", "Add a public key to a forge user", () => addUserKey),
  verb("delete", "Delete a public key of a forge user", () => deleteUserKey, {
    aliases: ["rm"],
  }),
];

interface UserKeyAddOptions {
  readonly username: string;
  /** A path, or `-` for standard input. */
  readonly file: string;
  /** The file's name when absent. */
  readonly title?: string;
}

export const addUserKey = {
  operations: [forge.addUserKey],
  output: resourceOf(forge.addUserKey, 201),
  define(command, cli, run = runUserKeyAdd): void {
    command
      .argument("<username>", "the user's name")
      .argument("<file>", "a file with the public key; - is standard input")
      .option("--title <title>", "a title for the key; by default the file's name")
      .action((username: string, file: string, flags: { readonly title?: string }) =>
        run(cli, { username, file, ...flags }),
      );
  },
} satisfies CommandModule;

/** Adds a public key to a user. */
async function runUserKeyAdd(cli: CliContext, options: UserKeyAddOptions): Promise<void> {
  const { username, file } = options;
  const key = await readKeyFile(cli, file);
  const title = options.title ?? toKeyTitle(file);
  const { body } = await cli.client.call(forge.addUserKey, {
    params: { username },
    body: { title, key },
  });
  await cli.output.resource(body, keyColumns);
}

interface UserKeyDeleteOptions {
  readonly username: string;
  readonly id: string;
}

export const deleteUserKey = {
  operations: [forge.deleteUserKey],
  output: shape({ deleted: "boolean", username: "string", id: "string" }),
  destructive: true,
  define(command, cli, run = runUserKeyDelete): void {
    command
      .argument("<username>", "the user's name")
      .argument("<id>", "the key's id")
      .action((username: string, id: string) => run(cli, { username, id }));
  },
} satisfies CommandModule;

/** Deletes a user's public key. */
async function runUserKeyDelete(
  cli: CliContext,
  { username, id }: UserKeyDeleteOptions,
): Promise<void> {
  await cli.prompts.confirm(`Delete the public key ${id} of ${username}?`);
  await cli.client.call(forge.deleteUserKey, { params: { username, id } });
  await cli.output.done({ deleted: true, username, id }, `Deleted the key ${id} of ${username}.`);
}
