import { forge } from "../client/operations.ts";
import { forgeFieldPages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { time } from "../output/cells.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import {
  repositoryArgument,
  type RepositoryName,
  toRepositoryName,
} from "../support/repository.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List the topics of a repository", () => listAll, { aliases: ["ls"] }),
  verb("search", "Search the topics of the repositories that you may read", () => searchAll),
  verb("add", "Add topics to a repository", () => addSome),
  verb("remove", "Remove topics from a repository", () => removeSome, { aliases: ["rm"] }),
  verb("set", "Replace the topics of a repository", () => setAll),
];

const listAll = {
  operations: [forge.listTopics],
  output: resourceOf(forge.listTopics),
  define(command, cli, run = runList): void {
    command
      .argument(...repositoryArgument)
      .action((repository: string) => run(cli, toRepositoryName(repository)));
  },
} satisfies CommandModule;

/** Prints the topics of a repository, one a line. All of them fit on one page. */
async function runList(cli: CliContext, { owner, repo }: RepositoryName): Promise<void> {
  const { body } = await cli.client.call(forge.listTopics, {
    params: { owner, repo },
    query: { limit: 50 },
  });
  await cli.output.text(body.topics.map((name) => `${name}\n`).join(""), body);
}

const searchAll = {
  operations: [forge.searchTopics],
  output: listOf(forge.searchTopics, "topics"),
  define(command, cli, run = runSearch): void {
    command
      .argument("[term]", "a part of the name")
      .action((term: string | undefined) => run(cli, term ?? ""));
  },
} satisfies CommandModule;

/** Prints topics, those of the most repositories first. */
async function runSearch(cli: CliContext, term: string): Promise<void> {
  const pages = forgeFieldPages(cli.client, forge.searchTopics, { query: { q: term } }, "topics");
  await cli.output.list(pages, [
    { header: "topic", cell: ({ topic_name: name }) => name },
    { header: "repositories", cell: ({ repo_count: count }) => count },
    { header: "created", cell: ({ created }) => time(created) },
  ]);
}

export interface TopicOptions extends RepositoryName {
  readonly topics: readonly string[];
}

const changed = shape({
  full_name: "string",
  topics: { type: "array", items: { type: "string" } },
});

export const addSome = {
  operations: [forge.addTopic],
  output: changed,
  define(command, cli, run = runAdd): void {
    command
      .argument(...repositoryArgument)
      .argument("<topic...>", "topics: letters, digits, dashes and dots")
      .action((repository: string, topics: readonly string[]) =>
        run(cli, { ...toRepositoryName(repository), topics }),
      );
  },
} satisfies CommandModule;

/** Adds topics, one after the other. */
async function runAdd(cli: CliContext, { owner, repo, topics }: TopicOptions): Promise<void> {
  for (const topic of topics)
    await cli.client.call(forge.addTopic, { params: { owner, repo, topic } });
  const fullName = `${owner}/${repo}`;
  await cli.output.done(
    { full_name: fullName, topics },
    `Added ${topics.join(", ")} to ${fullName}.`,
  );
}

const removeSome = {
  operations: [forge.deleteTopic],
  output: changed,
  // A removed topic can be added again.
  destructive: false,
  define(command, cli, run = runRemove): void {
    command
      .argument(...repositoryArgument)
      .argument("<topic...>", "topics of the repository")
      .action((repository: string, topics: readonly string[]) =>
        run(cli, { ...toRepositoryName(repository), topics }),
      );
  },
} satisfies CommandModule;

/** Removes topics, one after the other. */
async function runRemove(cli: CliContext, { owner, repo, topics }: TopicOptions): Promise<void> {
  for (const topic of topics)
    await cli.client.call(forge.deleteTopic, { params: { owner, repo, topic } });
  const fullName = `${owner}/${repo}`;
  await cli.output.done(
    { full_name: fullName, topics },
    `Removed ${topics.join(", ")} from ${fullName}.`,
  );
}

const setAll = {
  operations: [forge.replaceTopics],
  output: changed,
  define(command, cli, run = runSet): void {
    command
      .argument(...repositoryArgument)
      .argument("[topic...]", "the topics; none removes all")
      .action((repository: string, topics: readonly string[]) =>
        run(cli, { ...toRepositoryName(repository), topics }),
      );
  },
} satisfies CommandModule;

/** Replaces the topics of a repository. */
async function runSet(cli: CliContext, { owner, repo, topics }: TopicOptions): Promise<void> {
  await cli.client.call(forge.replaceTopics, {
    params: { owner, repo },
    body: { topics: [...topics] },
  });
  const fullName = `${owner}/${repo}`;
  const names = topics.length === 0 ? "no topics" : `the topics ${topics.join(", ")}`;
  await cli.output.done({ full_name: fullName, topics }, `${fullName} has ${names}.`);
}

export const showLanguages = {
  operations: [forge.listLanguages],
  output: resourceOf(forge.listLanguages),
  define(command, cli, run = runLanguages): void {
    command
      .argument(...repositoryArgument)
      .action((repository: string) => run(cli, toRepositoryName(repository)));
  },
} satisfies CommandModule;

/** Prints the bytes by language, the most first. */
async function runLanguages(cli: CliContext, { owner, repo }: RepositoryName): Promise<void> {
  const { body } = await cli.client.call(forge.listLanguages, { params: { owner, repo } });
  const rows = Object.entries(body).map(([name, bytes]) => `${name}\t${bytes}\n`);
  await cli.output.text(rows.join(""), body);
}
