import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../daemon/contract/endpoint.ts";
import { allEndpoints } from "../../daemon/contract/all.ts";
import { createContext } from "../../cli/context.ts";
import { neverStopping } from "../../cli/report.ts";
import { loadAllCommands } from "../../cli/tree.ts";
import { fakeSystem } from "./support/run-cli.ts";

const loaded = await loadAllCommands(
  createContext(fakeSystem({ home: "/nowhere" }), neverStopping),
);
const endpoints = new Map(
  (allEndpoints as readonly Endpoint[]).map((endpoint) => [endpoint.name, endpoint]),
);

/** What the client calls by itself, for all commands. */
const calledByClient: ReadonlySet<string> = new Set(["vault.auth.session.refresh"]);

const called = new Set(loaded.flatMap(({ module }) => module.operations.map(({ name }) => name)));

/** Areas whose operations are served before their commands are written. An area leaves this list with its commands. */
const awaited: readonly RegExp[] = [];

describe("every operation", () => {
  test.each([...endpoints.values()].map(({ name, apiOnly }) => [name, apiOnly] as const))(
    "%s has a command, or says why not",
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

test.each(loaded.map(({ line, module }) => [line, module.operations] as const))(
  "croft %s names operations as the contract declares them",
  (_line, operations) => {
    for (const { name, method, path } of operations) {
      const declared = endpoints.get(name);
      expect(declared, `${name} is not in daemon/contract/all.ts`).toBeDefined();
      expect({ method, path }).toEqual({ method: declared?.method, path: declared?.path });
    }
  },
);
