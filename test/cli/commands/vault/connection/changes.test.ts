import { describe, expect, test } from "vitest";
import { fakeDaemon } from "../../../support/fake-daemon.ts";
import { optionsOf, refusalOf } from "../../../support/parse-line.ts";
import { type FakeSystemOptions, runCli, temporaryHome } from "../../../support/run-cli.ts";
import { signIn } from "../../../support/signed-in.ts";

const connection = {
  id: "c1",
  provider: "webdav",
  display_name: "home",
  status: "connected",
  created_at: "2026-11-21T12:00:00.000Z",
  last_checked_at: null,
  quota: null,
  capabilities: {
    create_only: "atomic",
    rename: "emulated",
    move: "emulated",
    delete_precondition: "none",
    replace_precondition: "none",
    trash: true,
    range: true,
    quota: false,
    folder_rename: true,
  },
};

async function go(
  words: readonly string[],
  answers: Parameters<typeof fakeDaemon>[0],
  more: Partial<FakeSystemOptions> = {},
) {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "GET /api/cloud/connections": {
      body: { items: [connection], total: 1, page: 1, per_page: 100 },
    },
    ...answers,
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const ran = await runCli(["vault", ...words], { home: home.path, ...more });
  return { ran, sent: daemon.requests.at(-1) };
}

describe("connection view and test", () => {
  test("their lines become options", async () => {
    for (const verb of ["view", "test", "remove"])
      expect(await optionsOf(`vault connection ${verb}`, ["home"])).toEqual({ connection: "home" });
  });

  test("view prints one connection", async () => {
    const { ran } = await go(["connection", "view", "HOME", "--json=status"], {
      "GET /api/cloud/connections/c1": { body: connection },
    });
    expect(ran.json()).toEqual({ status: "connected" });
  });

  test("view shows the capabilities of the storage", async () => {
    const { ran } = await go(["connection", "view", "home"], {
      "GET /api/cloud/connections/c1": { body: connection },
    });
    expect(ran.out).toMatch(/delete precondition\s+none/i);
    expect(ran.out).toMatch(/create only\s+atomic/i);
  });

  test("item capabilities prints the capabilities of an item's storage", async () => {
    const { ran } = await go(["item", "capabilities", "home:/", "--json"], {});
    expect([ran.code, ran.json()]).toEqual([0, connection.capabilities]);
  });

  test.each([null, undefined])(
    "capabilities that are %j are reported as not known",
    async (none) => {
      const unknown = { ...connection, capabilities: none };
      const { ran } = await go(["item", "capabilities", "home:/"], {
        "GET /api/cloud/connections": {
          body: { items: [unknown], total: 1, page: 1, per_page: 100 },
        },
      });
      expect(ran.code).not.toBe(0);
      expect(ran.err).toContain("croft vault connection test");
    },
  );

  test.each([
    ["connected", 0],
    ["offline", 11],
    ["reauth_required", 13],
  ])("a storage that is %s ends with %d", async (status, code) => {
    const { ran } = await go(["connection", "test", "home", "--json=status"], {
      "POST /api/cloud/connections/c1/test": { body: { ...connection, status } },
    });
    expect([ran.code, ran.json()]).toEqual([code, { status }]);
  });
});

describe("connection edit", () => {
  test("the line becomes options", async () => {
    expect(
      await optionsOf("vault connection edit", [
        "home",
        "--name",
        "n",
        "--ask",
        "password",
        "--credential-stdin",
        "token",
      ]),
    ).toEqual({ connection: "home", name: "n", ask: ["password"], credentialStdin: "token" });
    expect(await refusalOf("vault connection edit", ["home"])).toMatch(/^croft: /);
  });

  test("sends the new credentials, which are nowhere on the line", async () => {
    const { ran, sent } = await go(
      ["connection", "edit", "home", "--name", "other", "--credential-stdin", "password", "--json"],
      { "PATCH /api/cloud/connections/c1": { body: { ...connection, display_name: "other" } } },
      { stdin: "hunter2" },
    );
    expect(sent?.json()).toEqual({ display_name: "other", credentials: { password: "hunter2" } });
    expect(ran.out + ran.err).not.toContain("hunter2");
  });

  test("refused credentials end with 13", async () => {
    const { ran } = await go(
      ["connection", "edit", "home", "--credential-stdin", "password"],
      {
        "PATCH /api/cloud/connections/c1": {
          status: 401,
          body: { kind: "reauth_required", reason: "provider_error", detail: "refused" },
        },
      },
      { stdin: "wrong" },
    );
    expect(ran.code).toBe(13);
  });
});

describe("connection remove", () => {
  test("asks for confirmation, then prints the deleted connection", async () => {
    expect((await go(["connection", "remove", "home", "--json"], {})).ran.code).toBe(2);
    const { ran } = await go(["connection", "rm", "home", "--yes", "--json"], {
      "DELETE /api/cloud/connections/c1": { body: { kind: "deleted", id: "c1" } },
    });
    expect(ran.json()).toEqual({ deleted: true, id: "c1", display_name: "home" });
  });
});

describe("analysis get and set", () => {
  const settings = {
    byte_cache_limit_bytes: 536_870_912,
    auto_analyze: false,
    max_analyze_bytes: 52_428_800,
  };

  test("the line becomes options", async () => {
    expect(
      await optionsOf("vault analysis set", [
        "--cache-limit",
        "512MiB",
        "--auto-analyze",
        "on",
        "--max-analyze",
        "1.5k",
      ]),
    ).toEqual({
      cacheLimit: 536_870_912,
      autoAnalyze: "on",
      maxAnalyze: 1536,
    });
    for (const words of [[], ["--cache-limit", "much"], ["--cache-limit", "-1"]])
      expect(await refusalOf("vault analysis set", words)).toMatch(/^croft: /);
  });

  test("get prints the settings, set sends the given ones", async () => {
    const path = "/api/cloud/analysis-settings";
    expect(
      (await go(["analysis", "get", "--json"], { [`GET ${path}`]: { body: settings } })).ran.json(),
    ).toEqual(settings);
    const { sent, ran } = await go(["analysis", "set", "--cache-limit", "1GiB", "--json"], {
      [`PATCH ${path}`]: { body: settings },
    });
    expect([sent?.json(), ran.code]).toEqual([{ byte_cache_limit_bytes: 1_073_741_824 }, 0]);
  });
});
