import type {
  WireForeignKey,
  WirePublicKey,
} from "../../../daemon/contract/forge/accounts/keys.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import { resourceOf, shape } from "../../output/spec.ts";
import { findFirst } from "../../output/pages.ts";
import { createIfAbsent, ifAbsentFlag } from "../../support/if-absent.ts";
import { isSameKey, keyColumns, readKeyFile, toKeyTitle } from "../../support/public-key.ts";
import type { Entry } from "../../tree/entry.ts";
import { command } from "../../tree/command.ts";

export const entries: readonly Entry[] = [
  command("add", "Add a public key to a forge user", {
    args: {
      "<username>": "the user's name",
      "<file>": "a file with the public key; - is standard input",
    },
    flags: {
      ...ifAbsentFlag,
      "--title <title>": "a title for the key; by default the file's name",
    },
    calls: [forge.addUserKey, forge.listUserKeys],
    output: resourceOf(forge.addUserKey, 201),
    examples: [
      ["Add a public key", "croft admin user key add mira laptop.pub"],
      [
        "Add a key with a title",
        'croft admin user key add mira laptop.pub --title "Laptop of Mira"',
      ],
      ["In a script that may run again", "croft admin user key add mira laptop.pub --if-absent"],
    ],
    /** Adds a public key to a user. */
    async run(cli, options) {
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
    },
  }),
  command("delete", "Delete a public key of a forge user", {
    aliases: ["rm"],
    args: { "<username>": "the user's name", "<id>": "the key's id" },
    calls: [forge.deleteUserKey],
    output: shape({ deleted: "boolean", username: "string", id: "string" }),
    destructive: true,
    examples: [
      ["Delete a key", "croft admin user key delete mira 4 --yes"],
      ["Show the request only", "croft admin user key delete mira 4 --dry-run"],
    ],
    /** Deletes a user's public key. */
    async run(cli, { username, id }) {
      await cli.prompts.confirm(`Delete the public key ${id} of ${username}?`);
      await cli.client.call(forge.deleteUserKey, { params: { username, id } });
      await cli.output.done(
        { deleted: true, username, id },
        `Deleted the key ${id} of ${username}.`,
      );
    },
  }),
];

/** Only administrators see the owner of another user's key. */
function isShownWhole(key: WireForeignKey): key is WirePublicKey {
  return key.user !== undefined;
}
