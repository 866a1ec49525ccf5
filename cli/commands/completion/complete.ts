import { vault } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { wholeList } from "../../output/pages.ts";
import { sanitizeLine } from "../../output/sanitize.ts";
import { shapeList } from "../../output/spec.ts";
import { readConnections } from "../../support/connection.ts";
import { createItemFinder } from "../../support/find-item.ts";
import { toPathAddress } from "../../support/item-address.ts";
import type { CommandModule } from "../../tree/entry.ts";

interface CompleteOptions {
  readonly kind: string;
  /** What is typed so far, for kinds that go on from it. */
  readonly word: string;
}

interface Candidate {
  readonly value: string;
  readonly description: string;
}

export const complete = {
  operations: [
    vault.listConnections,
    vault.listItems,
    vault.listDocuments,
    vault.listShares,
    vault.listTopics,
  ],
  output: shapeList({ value: "string", description: "string" }),
  define(command, cli, run = runComplete): void {
    command
      .argument("<kind>", "what to list, such as profiles, items or documents")
      .argument("[word]", "what is typed so far")
      .action((kind: string, word: string = "") => run(cli, { kind, word }));
  },
} satisfies CommandModule;

/** Prints the values of a kind for a completion script: none when they cannot be had, and never a question. */
async function runComplete(cli: CliContext, { kind, word }: CompleteOptions): Promise<void> {
  const candidates = await find(cli, kind, word).catch(() => []);
  // A shell shows them on the terminal as they are, one a line.
  const harmless = candidates.filter(({ value }) => sanitizeLine(value) === value);
  if (!cli.output.isMachine)
    return cli.io.write(
      harmless.map(({ value, description }) => `${value}\t${sanitizeLine(description)}\n`).join(""),
    );
  await cli.output.list(wholeList(harmless), [
    { header: "value", cell: ({ value }) => value },
    { header: "description", cell: ({ description }) => description },
  ]);
}

async function find(cli: CliContext, kind: string, word: string): Promise<readonly Candidate[]> {
  switch (kind) {
    case "profiles": {
      const { profiles } = await cli.profiles.read();
      return Object.entries(profiles).map(([value, { url }]) => ({
        value,
        description: url ?? "",
      }));
    }
    case "settings": {
      const { listSettings, toKey } = await import("../../../daemon/settings/settings.ts");
      return listSettings().map(([name, { help }]) => ({ value: toKey(name), description: help }));
    }
    case "commands": {
      const { commands } = await import("../root.ts");
      return commands
        .filter((entry) => entry.kind === "noun" || !entry.hidden)
        .map(({ name, summary }) => ({ value: name, description: summary }));
    }
    case "connections":
      return (await readConnections(cli)).map(({ display_name: value, provider }) => ({
        value,
        description: provider,
      }));
    case "items":
      return word.includes(":/") ? findItems(cli, word) : findRoots(cli);
    case "documents":
      return findDocuments(cli);
    case "shares":
      return (await readShares(cli)).map(({ id, recipient_handle: handle }) => ({
        value: id,
        description: `with ${handle}`,
      }));
    case "handles":
      return [...new Set((await readShares(cli)).map((share) => share.recipient_handle))].map(
        (value) => ({ value, description: "" }),
      );
    case "topics": {
      const { body } = await cli.client.call(vault.listTopics);
      return body.items.map(({ name: value, description }) => ({ value, description }));
    }
    default:
      return [];
  }
}

/** One page: a shell shows no more, and the person types on. */
const NEWEST = { per_page: 100 };

async function findDocuments(cli: CliContext): Promise<readonly Candidate[]> {
  const { body } = await cli.client.call(vault.listDocuments, { query: NEWEST });
  return body.items.map(({ id: value, filename: description }) => ({ value, description }));
}

async function readShares(cli: CliContext) {
  return (await cli.client.call(vault.listShares, { query: NEWEST })).body.items;
}

async function findRoots(cli: CliContext): Promise<readonly Candidate[]> {
  return (await readConnections(cli)).map(({ display_name: name, provider }) => ({
    value: `${name}:/`,
    description: provider,
  }));
}

/** What is in the folder that the word has reached. */
async function findItems(cli: CliContext, word: string): Promise<readonly Candidate[]> {
  const above = word.slice(0, word.lastIndexOf("/") + 1);
  const { connection, id } = await createItemFinder(cli).find(toPathAddress(above));
  const { body } = await cli.client.call(vault.listItems, {
    params: { connection_id: connection.id },
    query: { parent_ref: id, limit: 1000 },
  });
  return body.items.map(({ name, kind }) => ({
    value: `${above}${name}${kind === "folder" ? "/" : ""}`,
    description: kind,
  }));
}
