import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { shapeList } from "../output/spec.ts";
import { listConnections, readConnections } from "./vault/find-connection.ts";
import { wholeList } from "../output/pages.ts";

export const operations = [listConnections];
export const output = shapeList({ value: "string", description: "string" });

/** What the command was given. */
export interface CompleteOptions {
  readonly kind: string;
}

interface Candidate {
  readonly value: string;
  readonly description: string;
}

export function define(command: Command, cli: CliContext, run = runComplete): void {
  command
    .argument("<kind>", "profiles, settings, connections or commands")
    .action((kind: string) => run(cli, { kind }));
}

/** Prints the values of a kind for a completion script: none when they cannot be had, and never a question. */
export async function runComplete(cli: CliContext, { kind }: CompleteOptions): Promise<void> {
  const candidates = await find(cli, kind).catch(() => []);
  await cli.output.list(wholeList(candidates), [
    { header: "value", cell: ({ value }) => value },
    { header: "description", cell: ({ description }) => description },
  ]);
}

async function find(cli: CliContext, kind: string): Promise<readonly Candidate[]> {
  switch (kind) {
    case "profiles": {
      const { profiles } = await cli.profiles.read();
      return Object.entries(profiles).map(([value, { url }]) => ({
        value,
        description: url ?? "",
      }));
    }
    case "settings": {
      const { listSettings, toKey } = await import("../../daemon/contract/settings.ts");
      return listSettings().map(([name, { help }]) => ({ value: toKey(name), description: help }));
    }
    case "commands": {
      const { commands } = await import("../commands.ts");
      return commands
        .filter((entry) => entry.kind === "noun" || !entry.hidden)
        .map(({ name, summary }) => ({ value: name, description: summary }));
    }
    case "connections": {
      const connections = await readConnections(cli);
      return connections.map(({ display_name: name, provider }) => ({
        value: `${name}:/`,
        description: provider,
      }));
    }
    default:
      return [];
  }
}
