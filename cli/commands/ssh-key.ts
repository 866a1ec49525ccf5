import type { WirePublicKey } from "../../daemon/contract/forge/accounts/keys.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { createIfAbsent, ifAbsentFlag } from "../support/if-absent.ts";
import { findFirst } from "../output/pages.ts";
import { isSameKey, keyColumns, readKeyFile, toKeyTitle } from "../support/public-key.ts";
import type { Entry } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

export const entries: readonly Entry[] = [
  command("list", "List your public keys", {
    aliases: ["ls"],
    calls: [forge.listOwnKeys],
    output: listOf(forge.listOwnKeys),
    examples: [
      ["List your public keys", "croft ssh-key list"],
      ["Print their fingerprints", "croft ssh-key list --jq '.[].fingerprint'"],
    ],
    /** Prints the caller's public keys, the oldest first. */
    async run(cli) {
      await cli.output.list(forgePages(cli.client, forge.listOwnKeys, {}), keyColumns);
    },
  }),
  command("add", "Add a public key to your account", {
    args: { "<file>": "a file with the public key; - is standard input" },
    flags: {
      ...ifAbsentFlag,
      "-t, --title <title>": "a title for the key; by default the file's name",
    },
    calls: [forge.addOwnKey, forge.listOwnKeys],
    output: resourceOf(forge.addOwnKey, 201),
    examples: [
      ["Add a key", "croft ssh-key add laptop.pub"],
      ["Add a key with a title", 'croft ssh-key add laptop.pub --title "My laptop"'],
      ["In a script that may run again", "croft ssh-key add laptop.pub --if-absent"],
    ],
    /** Adds a public key to the caller's account. */
    async run(cli, { file, title, ifAbsent }) {
      const key = await readKeyFile(cli, file);
      const { value } = await createIfAbsent<WirePublicKey>(cli, {
        ifAbsent,
        title: "the public key",
        find: () =>
          findFirst(forgePages(cli.client, forge.listOwnKeys, {}), (one) =>
            isSameKey(one.key, key),
          ),
        create: async () => {
          const body = { title: title ?? toKeyTitle(file), key };
          return (await cli.client.call(forge.addOwnKey, { body })).body;
        },
        settings: (existing) => [{ flag: "--title", requested: title, existing: existing.title }],
      });
      await cli.output.resource(value, keyColumns);
    },
  }),
  command("delete", "Delete one of your public keys", {
    aliases: ["rm"],
    args: { "<id>": "the key's id" },
    calls: [forge.deleteOwnKey],
    output: shape({ deleted: "boolean", id: "string" }),
    destructive: true,
    examples: [
      ["Delete a key", "croft ssh-key delete 4 --yes"],
      ["Show the request only", "croft ssh-key delete 4 --dry-run"],
    ],
    /** Deletes one of the caller's public keys. */
    async run(cli, { id }) {
      await cli.prompts.confirm(`Delete the public key ${id}?`);
      await cli.client.call(forge.deleteOwnKey, { params: { id } });
      await cli.output.done({ deleted: true, id }, `Deleted the public key ${id}.`);
    },
  }),
];
