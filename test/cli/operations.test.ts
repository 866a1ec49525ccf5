import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createContext } from "../../cli/context.ts";
import { neverStopping } from "../../cli/report.ts";
import { commands } from "../../cli/program.ts";
import { loadAllCommands } from "../../cli/tree/command-tree.ts";
import * as contract from "../../daemon/contract/all.ts";
import type { AnyEndpoint, Endpoint } from "../../daemon/contract/endpoint.ts";
import { fakeSystem } from "./support/run-cli.ts";

const loaded = await loadAllCommands(
  createContext(fakeSystem({ home: "/nowhere" }), neverStopping),
  commands,
);
const { allEndpoints } = contract;
const endpoints = allEndpoints as readonly Endpoint[];

/** Operations that the client calls by itself, for all commands. */
const calledByClient: ReadonlySet<string> = new Set(["vault.auth.session.refresh"]);

/** An operation that only completion calls has no command. */
const called = new Set(
  loaded
    .filter(({ hidden }) => !hidden)
    .flatMap(({ module }) => module.calls.map(({ name }) => name)),
);

/** Areas whose operations are served before their commands are written. An area leaves this list with its commands. */
const awaited: readonly RegExp[] = [];

describe("every operation", () => {
  test.each(endpoints.map(({ name, apiOnly }) => [name, apiOnly] as const))(
    "%s has a command, or a reason for having none",
    (name, apiOnly) => {
      const hasCommand = called.has(name) || calledByClient.has(name);
      if (apiOnly !== undefined)
        expect(hasCommand, `${name} is apiOnly and has a command`).toBe(false);
      else if (!hasCommand)
        expect(
          awaited.some((area) => area.test(name)),
          `no command calls ${name}: add one, or give the endpoint apiOnly with the reason`,
        ).toBe(true);
    },
  );
});

describe("the table of operations", () => {
  test("the table of operations matches the endpoints of the contract; -u writes it", async () => {
    const text = `{\n  "forge": ${toTable(contract.forge)},\n  "vault": ${toTable(contract.vault)}\n}\n`;
    const path = join(import.meta.dirname, "..", "..", "cli", "client", "operations.json");
    await expect(text).toMatchFileSnapshot(path);
  });

  test("no two endpoints of an API share a name", () => {
    const names = allEndpoints.map(({ name }) => name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});

/** The part of endpoints that sends a request, one operation a line. */
function toTable(endpoints: Readonly<Record<string, AnyEndpoint>>): string {
  const lines = Object.entries(endpoints).map(([key, { name, method, path }]) => {
    const operation = JSON.stringify({ name, method, path });
    return `    ${JSON.stringify(key)}: ${operation}`;
  });
  return `{\n${lines.join(",\n")}\n  }`;
}
