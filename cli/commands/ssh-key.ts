import type { WirePublicKey } from "../../daemon/contract/forge/accounts/keys.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { addIfAbsentFlag, createIfAbsent, type IfAbsentFlag } from "../support/if-absent.ts";
import { findFirst } from "../output/pages.ts";
import { isSameKey, keyColumns, readKeyFile, toKeyTitle } from "../support/public-key.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List your public keys", () => listKeys, { aliases: ["ls"] }),
  verb("add", "Add a public key to your account", () => addKey),
  verb("delete", "Delete one of your public keys", () => deleteKey, { aliases: ["rm"] }),
];

const listKeys = {
  operations: [forge.listOwnKeys],
  output: listOf(forge.listOwnKeys),
  define(command, cli, run = runKeyList): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints the caller's public keys, the oldest first. */
async function runKeyList(cli: CliContext): Promise<void> {
  await cli.output.list(forgePages(cli.client, forge.listOwnKeys, {}), keyColumns);
}

export interface KeyAddOptions extends IfAbsentFlag {
  /** A path, or `-` for standard input. */
  readonly file: string;
  /** The file's name when absent. */
  readonly title?: string;
}

export const addKey = {
  operations: [forge.addOwnKey, forge.listOwnKeys],
  output: resourceOf(forge.addOwnKey, 201),
  define(command, cli, run = runKeyAdd): void {
    addIfAbsentFlag(command)
      .argument("<file>", "a file with the public key; - is standard input")
      .option("-t, --title <title>", "a title for the key; by default the file's name")
      .action((file: string, flags: Omit<KeyAddOptions, "file">) => run(cli, { file, ...flags }));
  },
} satisfies CommandModule;

/** Adds a public key to the caller's account. */
async function runKeyAdd(cli: CliContext, { file, title, ifAbsent }: KeyAddOptions): Promise<void> {
  const key = await readKeyFile(cli, file);
  const { value } = await createIfAbsent<WirePublicKey>(cli, {
    ifAbsent,
    title: "the public key",
    find: () =>
      findFirst(forgePages(cli.client, forge.listOwnKeys, {}), (one) => isSameKey(one.key, key)),
    create: async () => {
      const body = { title: title ?? toKeyTitle(file), key };
      return (await cli.client.call(forge.addOwnKey, { body })).body;
    },
    settings: (existing) => [{ flag: "--title", requested: title, existing: existing.title }],
  });
  await cli.output.resource(value, keyColumns);
}

const deleteKey = {
  operations: [forge.deleteOwnKey],
  output: shape({ deleted: "boolean", id: "string" }),
  destructive: true,
  define(command, cli, run = runKeyDelete): void {
    command.argument("<id>", "the key's id").action((id: string) => run(cli, id));
  },
} satisfies CommandModule;

/** Deletes one of the caller's public keys. */
async function runKeyDelete(cli: CliContext, id: string): Promise<void> {
  await cli.prompts.confirm(`Delete the public key ${id}?`);
  await cli.client.call(forge.deleteOwnKey, { params: { id } });
  await cli.output.done({ deleted: true, id }, `Deleted the public key ${id}.`);
}
