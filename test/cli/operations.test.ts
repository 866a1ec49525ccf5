import { glob } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { forge, vault, type AnyOperation } from "../../cli/client/operations.ts";
import { createContext } from "../../cli/context.ts";
import { neverStopping } from "../../cli/report.ts";
import { loadAllCommands } from "../../cli/tree/command-tree.ts";
import { allEndpoints } from "../../daemon/contract/all.ts";
import type { AnyEndpoint, Endpoint } from "../../daemon/contract/endpoint.ts";
import { fakeSystem } from "./support/run-cli.ts";

const loaded = await loadAllCommands(
  createContext(fakeSystem({ home: "/nowhere" }), neverStopping),
);
const endpoints = allEndpoints as readonly Endpoint[];

/** Operations that the client calls by itself, for all commands. */
const calledByClient: ReadonlySet<string> = new Set(["vault.auth.session.refresh"]);

/** An operation that only completion calls has no command. */
const called = new Set(
  loaded
    .filter(({ hidden }) => !hidden)
    .flatMap(({ module }) => module.operations.map(({ name }) => name)),
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
    const table = { forge: await readOperations("forge"), vault: await readOperations("vault") };
    const text = `${JSON.stringify(table, null, 2)}\n`;
    const path = join(import.meta.dirname, "..", "..", "cli", "client", "operations.json");
    await expect(text).toMatchFileSnapshot(path);
  });

  test("the table of operations has every endpoint that a command may call", () => {
    const operations: readonly AnyOperation[] = [...Object.values(forge), ...Object.values(vault)];
    const names = new Set(operations.map(({ name }) => name));
    const missing = endpoints.filter(
      ({ name, apiOnly }) => apiOnly === undefined && !names.has(name),
    );
    expect(missing.map(({ name }) => name)).toEqual([]);
  });
});

/** The endpoint values that the modules of one API export, by the names of the exports. */
async function readOperations(api: "forge" | "vault"): Promise<Record<string, AnyOperation>> {
  const contract = join(import.meta.dirname, "..", "..", "daemon", "contract");
  const paths = await Array.fromAsync(glob(`${api}/**/*.ts`, { cwd: contract }));
  const operations: Record<string, AnyOperation> = {};
  for (const path of paths.toSorted()) {
    const module = (await import(join(contract, path))) as Readonly<Record<string, unknown>>;
    for (const key of Object.keys(module).toSorted()) {
      if (!allEndpoints.includes(module[key] as AnyEndpoint)) continue;
      expect(operations[key], `${key} is exported by two modules of ${api}`).toBeUndefined();
      const { name, method, path: address } = module[key] as Endpoint;
      operations[key] = { name, method, path: address };
    }
  }
  return operations;
}
