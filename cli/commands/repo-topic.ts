import { forge } from "../client/operations.ts";
import { forgeFieldPages } from "../client/paging.ts";
import { time } from "../output/cells.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { repositoryArgument } from "../support/repository.ts";
import type { Entry } from "../tree/entry.ts";
import { command, commandDetails } from "../tree/command.ts";

const changed = shape({
  full_name: "string",
  topics: { type: "array", items: { type: "string" } },
});

export const entries: readonly Entry[] = [
  command("list", "List the topics of a repository", {
    aliases: ["ls"],
    args: repositoryArgument,
    calls: [forge.listTopics],
    output: resourceOf(forge.listTopics),
    examples: [
      ["List the topics of a repository", "croft repo topic list keeper/notes"],
      ["Print them as JSON", "croft repo topic list keeper/notes --json"],
    ],
    /** Prints the topics of a repository, one a line. All of them fit on one page. */
    async run(cli, { repository: { owner, repo } }) {
      const { body } = await cli.client.call(forge.listTopics, {
        params: { owner, repo },
        query: { limit: 50 },
      });
      await cli.output.text(body.topics.map((name) => `${name}\n`).join(""), body);
    },
  }),
  command("search", "Search the topics of the repositories that you may read", {
    args: { "[term]": "a part of the name" },
    calls: [forge.searchTopics],
    output: listOf(forge.searchTopics, "topics"),
    examples: [
      ["List all topics", "croft repo topic search"],
      ["Search topics by a part of the name", "croft repo topic search note"],
    ],
    /** Prints topics, those of the most repositories first. */
    async run(cli, { term = "" }) {
      const pages = forgeFieldPages(
        cli.client,
        forge.searchTopics,
        { query: { q: term } },
        "topics",
      );
      await cli.output.list(pages, [
        { header: "topic", cell: ({ topic_name: name }) => name },
        { header: "repositories", cell: ({ repo_count: count }) => count },
        { header: "created", cell: ({ created }) => time(created) },
      ]);
    },
  }),
  command("add", "Add topics to a repository", {
    args: { ...repositoryArgument, "<topic...>": "topics: letters, digits, dashes and dots" },
    calls: [forge.addTopic],
    output: changed,
    examples: [
      ["Add a topic", "croft repo topic add keeper/notes meetings"],
      ["Add two topics", "croft repo topic add keeper/notes meetings minutes"],
    ],
    /** Adds topics, one after the other. */
    async run(cli, { repository: { owner, repo }, topic: topics }) {
      for (const topic of topics)
        await cli.client.call(forge.addTopic, { params: { owner, repo, topic } });
      const fullName = `${owner}/${repo}`;
      await cli.output.done(
        { full_name: fullName, topics },
        `Added ${topics.join(", ")} to ${fullName}.`,
      );
    },
  }),
  command("remove", "Remove topics from a repository", {
    aliases: ["rm"],
    args: { ...repositoryArgument, "<topic...>": "topics of the repository" },
    calls: [forge.deleteTopic],
    output: changed,
    // A removed topic can be added again.
    destructive: false,
    examples: [
      ["Remove a topic", "croft repo topic remove keeper/notes meetings"],
      ["Show the request only", "croft repo topic remove keeper/notes meetings --dry-run"],
    ],
    /** Removes topics, one after the other. */
    async run(cli, { repository: { owner, repo }, topic: topics }) {
      for (const topic of topics)
        await cli.client.call(forge.deleteTopic, { params: { owner, repo, topic } });
      const fullName = `${owner}/${repo}`;
      await cli.output.done(
        { full_name: fullName, topics },
        `Removed ${topics.join(", ")} from ${fullName}.`,
      );
    },
  }),
  command("set", "Replace the topics of a repository", {
    args: { ...repositoryArgument, "[topic...]": "the topics; none removes all" },
    calls: [forge.replaceTopics],
    output: changed,
    examples: [
      [
        "Give a repository two topics and no others",
        "croft repo topic set keeper/notes meetings minutes",
      ],
      ["Remove all topics", "croft repo topic set keeper/notes"],
    ],
    /** Replaces the topics of a repository. */
    async run(cli, { repository: { owner, repo }, topic: topics }) {
      await cli.client.call(forge.replaceTopics, {
        params: { owner, repo },
        body: { topics: [...topics] },
      });
      const fullName = `${owner}/${repo}`;
      const names = topics.length === 0 ? "no topics" : `the topics ${topics.join(", ")}`;
      await cli.output.done({ full_name: fullName, topics }, `${fullName} has ${names}.`);
    },
  }),
];

export const showLanguages = commandDetails({
  args: repositoryArgument,
  calls: [forge.listLanguages],
  output: resourceOf(forge.listLanguages),
  examples: [
    ["Show the languages of a repository", "croft repo languages keeper/notes"],
    ["Print them as JSON", "croft repo languages keeper/notes --json"],
  ],
  /** Prints the bytes by language, the most first. */
  async run(cli, { repository: { owner, repo } }) {
    const { body } = await cli.client.call(forge.listLanguages, { params: { owner, repo } });
    const rows = Object.entries(body).map(([name, bytes]) => `${name}\t${bytes}\n`);
    await cli.output.text(rows.join(""), body);
  },
});
