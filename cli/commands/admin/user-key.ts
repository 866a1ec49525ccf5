import type {
  WireForeignKey,
  WirePublicKey,
} from "../../../daemon/contract/forge/accounts/keys.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { resourceOf, shape } from "../../output/spec.ts";
import { findFirst } from "../../output/pages.ts";
import { addIfAbsentFlag, createIfAbsent, type IfAbsentFlag } from "../../support/if-absent.ts";
import { isSameKey, keyColumns, readKeyFile, toKeyTitle } from "../../support/public-key.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("add", "Add a public key to a forge user", () => addUserKey),
  verb("delete", "Delete a public key of a forge user", () => deleteUserKey, {
    aliases: ["rm"],
  }),
];

interface UserKeyAddOptions extends IfAbsentFlag {
  readonly username: string;
  /** A path, or `-` for standard input. */
  readonly file: string;
  /** The file's name when absent. */
  readonly title?: string;
}

export const addUserKey = {
  operations: [forge.addUserKey, forge.listUserKeys],
  output: resourceOf(forge.addUserKey, 201),
  define(command, cli, run = runUserKeyAdd): void {
    addIfAbsentFlag(command)
      .argument("<username>", "the user's name")
      .argument("<file>", "a file with the public key; - is standard input")
      .option("--title <title>", "a title for the key; by default the file's name")
      .action(
        (username: string, file: string, flags: Omit<UserKeyAddOptions, "username" | "file">) =>
          run(cli, { username, file, ...flags }),
      );
  },
} satisfies CommandModule;

/** Adds a public key to a user. */
async function runUserKeyAdd(cli: CliContext, options: UserKeyAddOptions): Promise<void> {
  const { username, file } = options;
  const key = await readKeyFile(cli, file);
  const title = options.title ?? toKeyTitle(file);
  const params = { username };
  const { value } = await createIfAbsent<WirePublicKey>(cli, {
    ifAbsent: options.ifAbsent,
    title: `the public key of ${username}`,
    find: async () => {
      const pages = forgePages(cli.client, forge.listUserKeys, { params });
      const found = await findFirst(pages, (one) => isSameKey(one.key, key));
      return found !== undefined && isShownWhole(found) ? found : undefined;
    },
    create: async () =>
      (await cli.client.call(forge.addUserKey, { params, body: { title, key } })).body,
    settings: (existing) => [
      { flag: "--title", requested: options.title, existing: existing.title },
    ],
  });
  await cli.output.resource(value, keyColumns);
}

/** Only administrators see the owner of another user's key. */
function isShownWhole(key: WireForeignKey): key is WirePublicKey {
  return key.user !== undefined;
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
