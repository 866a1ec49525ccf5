import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allEndpoints } from "../../daemon/contract/all.ts";
import type { Endpoint } from "../../daemon/contract/endpoint.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createForgePeople } from "../support/forge/forge-people.ts";
import { QUERIES, toBody } from "../support/forge/route-requests.ts";

// The part of the authorization matrix about the packages of an owner, and about teams: each route below one of them is
// called by everyone, and must refuse callers without the permission that its contract declares.

/** The permissions of a caller on packages, and the roles for a team; each includes those before it. */
const levels = { packages: ["none", "read", "write"], team: ["none", "viewer", "owner"] } as const;
type Kind = keyof typeof levels;
type Level<K extends Kind> = (typeof levels)[K][number];
type Row = readonly ["packages", Level<"packages">] | readonly ["team", Level<"team">];

/** Routes that are not called, and why. */
const others: Readonly<Record<string, string>> = {
  "forge.packages.npm.ping": "everyone may ask",
  "forge.packages.npm.whoami": "everyone may ask",
  "forge.teams.members.delete": "members may leave; teams.test.ts has its refusals",
  "forge.teams.repos.put": "needs a permission on the repository; teams.test.ts has its refusals",
  "forge.teams.repos.delete":
    "needs a permission on the repository; teams.test.ts has its refusals",
};

/** The callers, by their permissions. `writer` is a member of the organization, but not of the team of the paths. */
const callers: Readonly<Record<string, { readonly [K in Kind]: Level<K> }>> = {
  outsider: { packages: "none", team: "none" },
  "public-only": { packages: "none", team: "none" },
  reader: { packages: "read", team: "viewer" },
  writer: { packages: "write", team: "none" },
  owner: { packages: "write", team: "owner" },
};

const belowOwner = /^\/(?:api\/v1\/packages|api\/packages|v2)\/:owner(?:\/|$)/;
const routes = (allEndpoints as readonly Endpoint[]).filter(
  ({ path }) => belowOwner.test(path) || path.startsWith("/api/v1/teams/:team"),
);

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const tokens: Record<string, string> = {};
let parameters: Readonly<Record<string, string>>;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  for (const name of Object.keys(callers)) if (name !== "public-only") await people.newUser(name);
  for (const name of Object.keys(callers))
    tokens[name] =
      name === "public-only"
        ? await people.newToken("owner", ["public-only", "all"])
        : people.tokenOf(name);
  parameters = await makeObjects();
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** Makes a private organization with a package, a repository and two teams. */
async function makeObjects(): Promise<Record<string, string>> {
  const made = async (method: string, at: string, json?: unknown) => {
    const answer = await people.by("owner", method, at, json);
    if (answer.status >= 300) throw new Error(`${method} ${at}: ${answer.status} ${answer.text}`);
    return answer.json;
  };
  await people.newUser("guest");
  await made("POST", "/orgs", { username: "works", visibility: "private" });
  await made("POST", "/orgs/works/repos", { name: "hut", private: true });
  const teams: Record<string, string> = {};
  for (const [user, permission] of [
    ["reader", "read"],
    ["writer", "write"],
  ] as const) {
    const units_map = { "repo.packages": permission };
    const team = { name: user, visibility: "private", units_map };
    const { id } = await made("POST", "/orgs/works/teams", team);
    await made("PUT", `/teams/${id}/members/${user}`);
    await made("PUT", `/teams/${id}/repos/works/hut`);
    teams[user] = String(id);
  }
  const upload = await daemon.request("/api/packages/works/generic/box/1/lid", {
    method: "PUT",
    token: tokens["owner"] ?? "",
    body: "text",
  });
  expect(upload.status, upload.text).toBe(201);
  return {
    owner: "works",
    org: "works",
    repo: "hut",
    repo_name: "hut",
    team: teams["reader"] ?? "",
    member: "reader",
    type: "generic",
    name: "box",
    scope: "@scope",
    version: "1",
    filename: "lid",
    revision: "1-1",
    tag: "next",
    reference: "next",
    digest: `sha256:${"0".repeat(64)}`,
    upload: "none",
  };
}

async function statusOf(declared: Endpoint, caller: string): Promise<number> {
  const filled = declared.path.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(parameters[name] ?? "1"),
  );
  const hasBody = declared.method !== "GET" && declared.body !== undefined;
  const answer = await daemon.request(filled + (QUERIES[declared.name] ?? ""), {
    method: declared.method,
    token: tokens[caller] ?? "",
    ...(hasBody ? toBody(declared) : {}),
  });
  expect(answer.status, answer.text).toBeLessThan(500);
  return answer.status;
}

/** Whether a caller has a permission. */
function reaches(caller: string, [kind, needed]: Row): boolean {
  const all: readonly string[] = levels[kind];
  return all.indexOf(callers[caller]?.[kind] ?? "none") >= all.indexOf(needed);
}

/** Returns the permission that a route declares. */
function toRow({ name, on }: Endpoint): Row | undefined {
  if (others[name] !== undefined) return undefined;
  if (on?.kind === "packages") return [on.kind, on.level];
  return on?.kind === "team" ? [on.kind, on.role] : undefined;
}

test("each route below an owner of packages or a team declares a permission, or has a reason why not", () => {
  const open = routes.filter(
    (each) => toRow(each) === undefined && others[each.name] === undefined,
  );
  expect(open.map(({ name }) => name)).toEqual([]);
  const known = new Set(routes.map(({ name }) => name));
  expect(Object.keys(others).filter((name) => !known.has(name))).toEqual([]);
});

test("a change needs more than the permission to read", () => {
  const open = routes.filter((each) => {
    const [, needed] = toRow(each) ?? [];
    return each.method !== "GET" && (needed === "read" || needed === "viewer");
  });
  // npm asks for known faults of packages by POST.
  expect(open.map(({ name }) => name)).toEqual([
    "forge.packages.npm.audit",
    "forge.packages.npm.audit_tree",
  ]);
});

const withRows = routes.flatMap((declared) => {
  const row = toRow(declared);
  return row === undefined ? [] : [[declared.name, declared, row] as const];
});

describe("callers without the permission of a route", () => {
  test.each(withRows)("%s refuses them", async (_name, declared, row) => {
    for (const [caller, has] of Object.entries(callers)) {
      if (reaches(caller, row)) continue;
      // A caller who sees the owner or the team but lacks the right gets 403, whether the object exists or not.
      const isSeen = has[row[0]] !== "none";
      expect([caller, await statusOf(declared, caller)]).toEqual([
        caller,
        isSeen ? 403 : expect.toBeOneOf([403, 404]),
      ]);
    }
  });
});

/** Reads first, then changes, then deletions from the inside out, so that the objects exist for all. */
const place = ({ method, path }: Endpoint) => {
  if (method === "GET") return 0;
  return method === "DELETE" ? 900 - path.split("/").length : 1;
};
const inOrder = withRows.toSorted(([, one], [, other]) => place(one) - place(other));

describe("callers with the permission of a route", () => {
  test.each(inOrder)("%s lets them in", async (_name, declared, row) => {
    for (const caller of Object.keys(callers))
      if (reaches(caller, row))
        expect([caller, await statusOf(declared, caller)]).not.toEqual([
          caller,
          expect.toBeOneOf([401, 403]),
        ]);
  });
});
