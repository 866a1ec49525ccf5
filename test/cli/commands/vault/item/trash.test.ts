import { describe, expect, test } from "vitest";
import { fakeDaemon } from "../../../support/fake-daemon.ts";
import { optionsOf } from "../../../support/parse-line.ts";
import { type FakeSystemOptions, runCli, temporaryHome } from "../../../support/run-cli.ts";
import { signIn } from "../../../support/signed-in.ts";

const base = "/api/cloud/connections/c1/trash";
const connection = { id: "c1", provider: "local_folder", display_name: "home" };
const trashed = [
  ["t1", "a.txt", "/docs", "2026-11-01T09:30:00.000Z"],
  ["t2", "a.txt", "/docs", "2026-11-02T09:30:00.000Z"],
  ["t3", "top.txt", "/", null],
] as const;

const items = trashed.map(([id, name, location, at]) => ({
  trash_id: id,
  name,
  kind: "file",
  location,
  size: 5,
  deleted_at: at,
}));

async function go(
  words: readonly string[],
  answers: Parameters<typeof fakeDaemon>[0] = {},
  more: Partial<FakeSystemOptions> = {},
) {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "GET /api/cloud/connections": {
      body: { items: [connection], total: 1, page: 1, per_page: 100 },
    },
    // Two pages.
    [`GET ${base}`]: ({ path }) => {
      const isFirst = !path.includes("cursor=");
      const page = isFirst ? items.slice(0, 1) : items.slice(1);
      return { body: { items: page, next_cursor: isFirst ? "t1" : null } };
    },
    ...answers,
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const ran = await runCli(["vault", "item", "trash", ...words], { home: home.path, ...more });
  return { ran, requests: daemon.requests };
}

describe("item trash list", () => {
  test("turns its argument into options", async () => {
    expect(await optionsOf("vault item trash list", ["home"])).toEqual({ connection: "home" });
  });

  test("prints the deleted items of all pages", async () => {
    const { ran } = await go(["list", "home", "--all", "--json=trash_id,location"]);
    expect(JSON.parse(ran.out)).toEqual(
      trashed.map(([id, , location]) => ({ trash_id: id, location })),
    );
  });

  test.each([
    [["--limit", "2"], ["t1", "t2"], true],
    [["--limit", "2", "--page", "2"], ["t3"], false],
    [["--limit", "1", "--page", "3"], ["t3"], false],
    [["--limit", "2", "--page", "3"], [], false],
    [["--page", "2"], ["t2", "t3"], false],
    [["--limit", "2", "--all"], ["t1", "t2", "t3"], false],
  ])("%j cuts pages of its own from those of the provider", async (flags, ids, hasMore) => {
    const { ran } = await go(["list", "home", ...flags, "--json", "--meta"]);
    const { items: listed, has_more } = ran.json() as {
      items: { trash_id: string }[];
      has_more: boolean;
    };
    expect([listed.map(({ trash_id: id }) => id), has_more]).toEqual([ids, hasMore]);
  });

  test("a storage without a trash is unsupported", async () => {
    const { ran } = await go(["list", "home"], {
      [`GET ${base}`]: {
        status: 422,
        body: { kind: "unsupported_operation", reason: "provider_unsupported" },
      },
    });
    expect([ran.code, ran.out]).toEqual([15, ""]);
    expect(ran.err).toContain("this storage cannot do that");
  });
});

describe("item trash restore", () => {
  const restored = {
    kind: "restored",
    provider_item_id: "docs/a.txt",
    name: "a.txt",
    parent_ref: "docs",
  };

  test("turns its arguments into options", async () => {
    expect(await optionsOf("vault item trash restore", ["home:/a", "home:t1"])).toEqual({
      items: ["home:/a", "home:t1"],
    });
  });

  test("restores the item of a path that was deleted last", async () => {
    const { ran, requests } = await go(["restore", "home:/docs/a.txt", "--json"], {
      [`POST ${base}/restore`]: { body: restored },
    });
    expect(ran.code).toBe(0);
    expect(requests.at(-1)?.json()).toEqual({ trash_id: "t2" });
    expect(JSON.parse(ran.out)).toEqual([{ item: "home:/docs/a.txt", ...restored, error: null }]);
  });

  test("restores an item of the top folder, and one by its id", async () => {
    for (const word of ["home:/top.txt", "home:t3"]) {
      const { ran, requests } = await go(["restore", word], {
        [`POST ${base}/restore`]: { body: restored },
      });
      expect(ran.code).toBe(0);
      expect(requests.at(-1)?.json()).toEqual({ trash_id: "t3" });
    }
  });

  test("reports a path that is not in the trash", async () => {
    const { ran } = await go(["restore", "home:/other.txt"]);
    expect(ran.code).toBe(6);
    expect(ran.err).toContain("/other.txt is not in the trash of home");
  });

  test("explains a missing folder and a taken name", async () => {
    for (const [body, code, words] of [
      [{ kind: "stale", reason: "item_changed" }, 7, "its folder is missing"],
      [{ kind: "conflict", reason: "name_collision" }, 7, "the name is taken"],
    ] as const) {
      const { ran } = await go(["restore", "home:t1"], {
        [`POST ${base}/restore`]: { status: 409, body },
      });
      expect(ran.code).toBe(code);
      expect(ran.err).toContain(words);
    }
  });
});

describe("item trash empty", () => {
  test("turns its argument into options", async () => {
    expect(await optionsOf("vault item trash empty", ["home"])).toEqual({ connection: "home" });
  });

  test("asks for confirmation, and repeats the request until the trash is empty", async () => {
    let left = 3;
    const { ran, requests } = await go(["empty", "home", "--yes", "--json"], {
      [`DELETE ${base}`]: () => ({
        body: { kind: "emptied", removed: 500, has_more: --left > 0 },
      }),
    });
    expect(JSON.parse(ran.out)).toEqual({ kind: "emptied", removed: 1500, has_more: false });
    expect(requests.filter(({ method }) => method === "DELETE")).toHaveLength(3);
    const refused = await go(["empty", "home"]);
    expect(refused.ran.code).toBe(2);
    expect(refused.requests.filter(({ method }) => method === "DELETE")).toHaveLength(0);
  });
});
