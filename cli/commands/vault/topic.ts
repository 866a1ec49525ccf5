import type { z } from "zod";
import type { topic } from "../../../daemon/contract/vault/topics.ts";
import { vault } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { CliError, usageError } from "../../errors.ts";
import { type Column, time } from "../../output/cells.ts";
import { wholeList } from "../../output/pages.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import { addIfAbsentFlag, createIfAbsent, type IfAbsentFlag } from "../../support/if-absent.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List the topics of documents", () => listTopics, { aliases: ["ls"] }),
  verb("create", "Create a topic", () => createTopic),
  verb("edit", "Change a topic", () => editTopic),
  verb("delete", "Delete a topic", () => deleteTopic, { aliases: ["rm"] }),
];

type WireTopic = z.output<typeof topic>;

const columns: readonly Column<WireTopic>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ name }) => name },
  { header: "description", cell: ({ description }) => description },
  { header: "system", cell: ({ is_system: isSystem }) => isSystem },
  { header: "created", cell: ({ created_at: created }) => time(created) },
];

export const listTopics = {
  operations: [vault.listTopics],
  output: listOf(vault.listTopics, "items"),
  define(command, cli, run = runList): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

async function runList(cli: CliContext): Promise<void> {
  await cli.output.list(wholeList(await readTopics(cli)), columns);
}

export interface TopicCreateOptions extends IfAbsentFlag {
  readonly name: string;
  readonly description?: string;
  readonly system?: true;
}

export const createTopic = {
  operations: [vault.createTopic, vault.createSystemTopic, vault.listTopics],
  output: resourceOf(vault.createTopic, 201),
  define(command, cli, run = runCreate): void {
    addIfAbsentFlag(command)
      .argument("<name>", "the topic's name")
      .option("--description <text>", "the description, which the classifier reads")
      .option("--system", "a topic for every user; administrators only")
      .action((name: string, flags: Omit<TopicCreateOptions, "name">) =>
        run(cli, { name, ...flags }),
      );
  },
} satisfies CommandModule;

async function runCreate(
  cli: CliContext,
  { name, description, system, ifAbsent }: TopicCreateOptions,
): Promise<void> {
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
}

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

export interface TopicEditOptions {
  readonly topic: string;
  readonly name?: string;
  readonly description?: string;
}

export const editTopic = {
  operations: [vault.listTopics, vault.updateTopic],
  output: resourceOf(vault.updateTopic),
  completions: { topic: "topics" },
  define(command, cli, run = runEdit): void {
    command
      .argument("<topic>", "the topic's name or id")
      .option("--name <name>", "another name")
      .option("--description <text>", "a new description")
      .action((topic: string, flags: Omit<TopicEditOptions, "topic">) =>
        run(cli, { topic, ...flags }),
      );
  },
} satisfies CommandModule;

async function runEdit(cli: CliContext, options: TopicEditOptions): Promise<void> {
  const { topic, ...changes } = options;
  if (Object.keys(changes).length === 0)
    throw usageError("nothing to change", "give --name or --description");
  const { id } = await findTopic(cli, topic);
  const { body } = await cli.client.call(vault.updateTopic, {
    params: { topic_id: id },
    body: changes,
  });
  await cli.output.resource(body, columns);
}

export const deleteTopic = {
  operations: [vault.listTopics, vault.deleteTopic],
  output: shape({ deleted: "boolean", id: "string", name: "string" }),
  destructive: true,
  completions: { topic: "topics" },
  define(command, cli, run = runDelete): void {
    command
      .argument("<topic>", "the topic's name or id")
      .action((topic: string) => run(cli, topic));
  },
} satisfies CommandModule;

async function runDelete(cli: CliContext, topic: string): Promise<void> {
  const { id, name } = await findTopic(cli, topic);
  await cli.prompts.confirm(`Delete the topic ${name} and remove it from all documents?`);
  await cli.client.call(vault.deleteTopic, { params: { topic_id: id } });
  await cli.output.done({ deleted: true, id, name }, `Deleted the topic ${name}.`);
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
