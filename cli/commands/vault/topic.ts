import type { z } from "zod";
import type { topic } from "../../../daemon/contract/vault/topics.ts";
import { vault } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { CliError, usageError } from "../../errors.ts";
import { type Column, time } from "../../output/cells.ts";
import { wholeList } from "../../output/pages.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import { createIfAbsent, ifAbsentFlag } from "../../support/if-absent.ts";
import type { Entry } from "../../tree/entry.ts";
import { command } from "../../tree/command.ts";

export const entries: readonly Entry[] = [
  command("list", "List the topics of documents", {
    aliases: ["ls"],
    calls: [vault.listTopics],
    output: listOf(vault.listTopics, "items"),
    examples: [
      ["List topics", "croft vault topic list"],
      ["Print their names", "croft vault topic list --jq '.[].name'"],
    ],
    async run(cli) {
      await cli.output.list(wholeList(await readTopics(cli)), columns);
    },
  }),
  command("create", "Create a topic", {
    args: { "<name>": "the topic's name" },
    flags: {
      ...ifAbsentFlag,
      "--description <text>": "the description, which the classifier reads",
      "--system": "a topic for every user; administrators only",
    },
    calls: [vault.createTopic, vault.createSystemTopic, vault.listTopics],
    output: resourceOf(vault.createTopic, 201),
    examples: [
      ["Create a topic", 'croft vault topic create Invoices --description "Bills and invoices"'],
      ["Create a topic for every user", "croft vault topic create Invoices --system"],
      ["In a script that may run again", "croft vault topic create Invoices --if-absent"],
    ],
    async run(cli, { name, description, system, ifAbsent }) {
      const input = { body: { name, description: description ?? "" } };
      const isSystem = system === true;
      const { value } = await createIfAbsent<WireTopic>(cli, {
        ifAbsent,
        title: `the ${isSystem ? "system topic" : "topic"} ${JSON.stringify(name)}`,
        find: async () =>
          (await readTopics(cli)).find(
            (topic) => topic.is_system === isSystem && toTopicKey(topic.name) === toTopicKey(name),
          ),
        create: async () =>
          isSystem
            ? (await cli.client.call(vault.createSystemTopic, input)).body
            : (await cli.client.call(vault.createTopic, input)).body,
        settings: (existing) => [
          { flag: "--description", requested: description, existing: existing.description },
        ],
        editedBy: "croft vault topic edit",
      });
      await cli.output.resource(value, columns);
    },
  }),
  command("edit", "Change a topic", {
    args: { "<topic>": "the topic's name or id" },
    flags: { "--name <name>": "another name", "--description <text>": "a new description" },
    calls: [vault.listTopics, vault.updateTopic],
    output: resourceOf(vault.updateTopic),
    completions: { topic: "topics" },
    examples: [
      ["Rename a topic", "croft vault topic edit Invoices --name Bills"],
      [
        "Change its description",
        'croft vault topic edit Invoices --description "Bills, invoices and receipts"',
      ],
    ],
    async run(cli, options) {
      const { topic, ...changes } = options;
      if (Object.keys(changes).length === 0)
        throw usageError("nothing to change", "give --name or --description");
      const { id } = await findTopic(cli, topic);
      const { body } = await cli.client.call(vault.updateTopic, {
        params: { topic_id: id },
        body: changes,
      });
      await cli.output.resource(body, columns);
    },
  }),
  command("delete", "Delete a topic", {
    aliases: ["rm"],
    args: { "<topic>": "the topic's name or id" },
    calls: [vault.listTopics, vault.deleteTopic],
    output: shape({ deleted: "boolean", id: "string", name: "string" }),
    destructive: true,
    completions: { topic: "topics" },
    examples: [
      ["Delete a topic", "croft vault topic delete Invoices --yes"],
      ["Show the request only", "croft vault topic delete Invoices --dry-run"],
    ],
    async run(cli, { topic }) {
      const { id, name } = await findTopic(cli, topic);
      await cli.prompts.confirm(`Delete the topic ${name} and remove it from all documents?`);
      await cli.client.call(vault.deleteTopic, { params: { topic_id: id } });
      await cli.output.done({ deleted: true, id, name }, `Deleted the topic ${name}.`);
    },
  }),
];

type WireTopic = z.output<typeof topic>;

const columns: readonly Column<WireTopic>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ name }) => name },
  { header: "description", cell: ({ description }) => description },
  { header: "system", cell: ({ is_system: isSystem }) => isSystem },
  { header: "created", cell: ({ created_at: created }) => time(created) },
];

/** Returns the key by which the server compares names: without case and accents, with full case folding. */
export function toTopicKey(name: string): string {
  return name
    .toLowerCase()
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toUpperCase()
    .replaceAll("Σ", "σ")
    .toLowerCase()
    .trim();
}

async function readTopics(cli: CliContext): Promise<WireTopic[]> {
  return (await cli.client.call(vault.listTopics)).body.items;
}

async function findTopic(cli: CliContext, nameOrId: string): Promise<WireTopic> {
  const key = nameOrId.toLowerCase();
  const found = (await readTopics(cli)).find(
    ({ id, name }) => id === key || name.toLowerCase() === key,
  );
  if (found !== undefined) return found;
  throw new CliError("not_found", `there is no topic ${nameOrId}`, {
    hint: "croft vault topic list shows the topics",
  });
}
