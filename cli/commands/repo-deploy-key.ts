import type { WireDeployKey } from "../../daemon/contract/forge/repositories/deploy-keys.ts";
import { forge } from "../client/operations.ts";
import { type Column, time } from "../output/cells.ts";
import { resourceOf, shape } from "../output/spec.ts";
import { findFirst } from "../output/pages.ts";
import { forgePages } from "../client/paging.ts";
import { createIfAbsent, ifAbsentFlag } from "../support/if-absent.ts";
import { isSameKey, readKeyFile, toKeyTitle } from "../support/public-key.ts";
import { repositoryArgument, repositoryList } from "../support/repository.ts";
import type { Entry } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

export const entries: readonly Entry[] = [
  command("list", "List the deploy keys of a repository", async () => listKeys, {
    aliases: ["ls"],
  }),
  command("add", "Add a deploy key to a repository", {
    args: { ...repositoryArgument, "<file>": "a file with the public key; - is standard input" },
    flags: {
      ...ifAbsentFlag,
      "--title <title>": "a title for the key; by default the file's name",
      "--allow-write": "let the key push",
    },
    calls: [forge.addDeployKey, forge.listDeployKeys],
    output: resourceOf(forge.addDeployKey, 201),
    examples: [
      ["Add a key that reads", "croft repo deploy-key add keeper/notes laptop.pub"],
      [
        "Add a key that may push",
        "croft repo deploy-key add keeper/notes laptop.pub --allow-write --title Mirror",
      ],
      [
        "In a script that may run again",
        "croft repo deploy-key add keeper/notes laptop.pub --if-absent",
      ],
    ],
    /** Adds a key for one repository, read-only by default. */
    async run(cli, { repository, ...flags }) {
      const options = { ...repository, ...flags };
      const { owner, repo, file, title, allowWrite } = options;
      const params = { owner, repo };
      const key = await readKeyFile(cli, file);
      const { value } = await createIfAbsent<WireDeployKey>(cli, {
        ifAbsent: options.ifAbsent,
        title: `the deploy key of ${owner}/${repo}`,
        find: async () => {
          const pages = forgePages(cli.client, forge.listDeployKeys, { params });
          const found = await findFirst(pages, (one) => isSameKey(one.key, key));
          // The response to a creation does not repeat the repository.
          const { repository: _, ...rest } = found ?? {};
          return found && (rest as WireDeployKey);
        },
        create: async () => {
          const body = { title: title ?? toKeyTitle(file), key, read_only: allowWrite !== true };
          return (await cli.client.call(forge.addDeployKey, { params, body })).body;
        },
        settings: (existing) => [
          { flag: "--title", requested: title, existing: existing.title },
          { flag: "--allow-write", requested: allowWrite === true, existing: !existing.read_only },
        ],
      });
      await cli.output.resource(value, columns);
    },
  }),
  command("delete", "Delete a deploy key of a repository", {
    aliases: ["rm"],
    args: { ...repositoryArgument, "<id>": "the key's id" },
    calls: [forge.getDeployKey, forge.deleteDeployKey],
    output: shape({ deleted: "boolean", id: "integer", title: "string" }),
    destructive: true,
    examples: [
      ["Delete a key", "croft repo deploy-key delete keeper/notes 4 --yes"],
      ["Show the request only", "croft repo deploy-key delete keeper/notes 4 --dry-run"],
    ],
    /** Deletes a key. The API does not report an unknown key, so the key is looked up first. */
    async run(cli, { repository: { owner, repo }, id }) {
      const params = { owner, repo, id };
      const { body } = await cli.client.call(forge.getDeployKey, { params });
      await cli.prompts.confirm(`Delete the deploy key ${body.title} of ${owner}/${repo}?`);
      await cli.client.call(forge.deleteDeployKey, { params });
      await cli.output.done(
        { deleted: true, id: body.id, title: body.title },
        `Deleted the deploy key ${body.title}.`,
      );
    },
  }),
];

const columns: readonly Column<WireDeployKey>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "title", cell: ({ title }) => title },
  {
    header: "type",
    cell: ({ read_only: isReadOnly }) => (isReadOnly ? "read-only" : "read-write"),
  },
  { header: "fingerprint", cell: ({ fingerprint }) => fingerprint },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
];

/** The keys of a repository, the oldest first. */
const listKeys = repositoryList(forge.listDeployKeys, columns, [
  ["List the deploy keys", "croft repo deploy-key list keeper/notes"],
  ["Print their fingerprints", "croft repo deploy-key list keeper/notes --jq '.[].fingerprint'"],
]);
