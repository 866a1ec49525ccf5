import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allEndpoints } from "../../daemon/contract/all.ts";
import { apiOf } from "../../daemon/contract/api-of.ts";
import { type Endpoint, eventStream } from "../../daemon/contract/endpoint.ts";
import { startTestDaemon, type TestDaemon, type TestRequest } from "../support/daemon.ts";
import { createForgePeople } from "../support/forge/forge-people.ts";
import { CANARY, DEPLOY_KEYS, QUERIES, toBody } from "../support/forge/route-requests.ts";

// The part of the authorization matrix about callers who are signed in but may not reach an object: every route of the
// endpoint table is called with the ids of another account's private objects. A refusal is not enough: the response
// must not contain any of their texts, and the database must be unchanged.

const STRONG = "Correct-Horse-7-Battery";

let daemon: TestDaemon;
let parameters: Readonly<Record<string, string>>;
/** A reader of the database file of the daemon. */
let database: Sqlite.Database;
let vaultParameters: Readonly<Record<string, string>>;
const forgeTokens: Record<string, string> = {};
const vaultTokens: Record<string, string> = {};
// The clock stops once everything is set up: a due job would change the database between two reads.
let now = Date.now();

const endpoints = allEndpoints as readonly Endpoint[];
// Its answer does not end. `notification-stream.test.ts` has its refusals.
const finite = endpoints.filter(({ replies }) => replies[200] !== eventStream);
// Jobs and signed addresses have credentials of their own: `action-artifacts.test.ts` has their refusals.
const isOfUsers = ({ gate }: Endpoint) =>
  gate.admits !== "forge_job" && gate.admits !== "forge_artifact_address";
// A request for a token carries the credentials of a program.
const forge = finite.filter(
  (each) => apiOf(each) === "forge" && isOfUsers(each) && each.name !== "forge.oauth.token",
);
const vault = finite.filter((each) => apiOf(each) === "vault");
const named = (list: readonly Endpoint[]) => list.map((each) => [each.name, each] as const);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" }, clock: () => now });
  database = new Sqlite(join(daemon.home, "croft.db"), { readonly: true });
  parameters = await makeForgeObjects();
  vaultParameters = await makeVaultObjects();
  await untilQuiet();
});
afterAll(async () => {
  database.close();
  await daemon[Symbol.asyncDispose]();
});

/** Makes `hermit`, a private account with one private object of every kind, and the callers. */
async function makeForgeObjects(): Promise<Record<string, string>> {
  const people = createForgePeople(() => daemon);
  const { api, by } = people;
  const made = async (answer: ReturnType<typeof api>) => {
    const { status, json, text } = await answer;
    if (status >= 300) throw new Error(`could not set up the test: ${status} ${text}`);
    return json;
  };
  const hook = (fields: object = {}) => ({
    type: "gitea",
    active: true,
    events: ["push", "issues", "issue_comment", "repository", "package"],
    config: { url: `http://127.0.0.1:9/${CANARY}`, content_type: "json", ...fields },
  });
  const systemHook = await made(api("POST", "/admin/hooks", hook({ is_system_webhook: "true" })));
  await people.newUser("hermit", {
    visibility: "private",
    full_name: CANARY,
    email: `${CANARY}@example.org`,
  });
  await made(by("hermit", "POST", "/user/emails", { emails: [`${CANARY}-2@example.org`] }));
  const repository = { name: "hut", private: true, auto_init: true, description: CANARY };
  await made(api("POST", "/admin/users/hermit/repos", repository));
  await made(
    api("POST", "/admin/users/hermit/orgs", {
      username: "lodge",
      visibility: "private",
      description: CANARY,
    }),
  );
  const team = await made(
    by("hermit", "POST", "/orgs/lodge/teams", {
      name: "hosts",
      description: CANARY,
      permission: "admin",
    }),
  );
  const orgHook = await made(by("hermit", "POST", "/orgs/lodge/hooks", hook()));
  const ownHook = await made(by("hermit", "POST", "/user/hooks", hook()));
  await made(by("hermit", "POST", "/orgs/lodge/repos", { ...repository, name: "hut" }));
  const path = "/repos/hermit/hut";
  const repositoryHook = await made(by("hermit", "POST", `${path}/hooks`, hook()));
  const text = { title: CANARY, body: CANARY };
  const issue = await made(by("hermit", "POST", `${path}/issues`, text));
  const comment = await made(by("hermit", "POST", `${path}/issues/${issue.number}/comments`, text));
  const other = await made(by("hermit", "POST", `${path}/issues`, text));
  const waits = `${path}/issues/${issue.number}/dependencies`;
  await made(by("hermit", "POST", waits, { index: other.number }));
  const time = await made(
    by("hermit", "POST", `${path}/issues/${issue.number}/times`, { time: 60 }),
  );
  const file = (name: string) => {
    const form = new FormData();
    form.append("attachment", new File([CANARY], `${CANARY}.txt`));
    const options = { method: "POST", body: form, token: people.tokenOf("hermit") };
    return daemon.request(`/api/v1${path}/issues/${name}/assets`, options);
  };
  const attachment = await made(file(String(issue.number)));
  await made(file(`comments/${comment.id}`));
  const color = { name: CANARY, color: "ff0000" };
  const label = await made(by("hermit", "POST", `${path}/labels`, color));
  const orgLabel = await made(by("hermit", "POST", "/orgs/lodge/labels", color));
  const milestone = await made(by("hermit", "POST", `${path}/milestones`, text));
  await made(by("hermit", "PUT", `${path}/issues/${issue.number}/labels`, { labels: [CANARY] }));
  await made(
    daemon.request("/api/packages/hermit/generic/box/1/lid", {
      method: "PUT",
      token: people.tokenOf("hermit"),
      body: CANARY,
    }),
  );
  await made(by("hermit", "PUT", `${path}/topics/${CANARY}`));
  const deployKey = await made(
    by("hermit", "POST", `${path}/keys`, { title: CANARY, key: DEPLOY_KEYS[0] }),
  );
  await made(by("hermit", "PUT", `${path}/actions/secrets/KEY`, { data: CANARY }));
  await made(by("hermit", "POST", `${path}/actions/variables/AREA`, { value: CANARY }));
  await made(api("POST", "/orgs/lodge/actions/variables/AREA", { value: CANARY }));
  const [thread] = await made(by("hermit", "GET", "/notifications?all=true"));
  const deliveriesOf = async (of: string) => (await made(api("GET", `${of}/deliveries`)))[0].id;
  const repositoryDelivery = await deliveriesOf(`${path}/hooks/${repositoryHook.id}`);
  const systemDelivery = await deliveriesOf(`/admin/hooks/${systemHook.id}`);
  const orgDelivery = await deliveriesOf(`/orgs/lodge/hooks/${orgHook.id}`);
  const own = await made(by("hermit", "GET", `/user/hooks/${ownHook.id}/deliveries`));

  forgeTokens["admin"] = people.admin;
  for (const user of ["mira", "rita", "dora", "pia", "ada"]) await people.newUser(user);
  await people.newUser("root", {});
  const edit = (user: string, fields: object) =>
    made(api("PATCH", `/admin/users/${user}`, { source_id: 0, login_name: user, ...fields }));
  await edit("root", { admin: true });
  forgeTokens["public-only"] = await people.newToken("root", ["public-only", "all"]);
  forgeTokens["unrelated"] = await people.newToken("root", ["read:activitypub"]);
  for (const scope of [
    "admin",
    "organization",
    "package",
    "issue",
    "repository",
    "user",
    "notification",
  ])
    forgeTokens[`read:${scope}`] = await people.newToken("root", [`read:${scope}`]);
  forgeTokens["mira read:admin"] = await people.newToken("mira", ["read:admin"]);
  forgeTokens["mira all"] = await people.newToken("mira", ["all"]);
  forgeTokens["write:admin"] = await people.newToken("root", ["write:admin"]);
  await edit("ada", { admin: true });
  for (const user of ["mira", "rita", "dora", "pia", "ada"])
    forgeTokens[user] = people.tokenOf(user);
  await edit("rita", { restricted: true });
  await edit("dora", { active: false });
  await edit("pia", { prohibit_login: true });
  await edit("ada", { admin: false });
  return {
    username: "hermit",
    owner: "hermit",
    org: "lodge",
    team: "hosts",
    teamId: String(team.id),
    member: "hermit",
    repo: "hut",
    repo_name: "hut",
    index: String(issue.number),
    comment: String(comment.id),
    attachment: String(attachment.id),
    uuid: String(attachment.uuid),
    label: String(label.id),
    orgLabel: String(orgLabel.id),
    milestone: String(milestone.id),
    time: String(time.id),
    assignee: "mira",
    thread: String(thread.id),
    repositoryHook: String(repositoryHook.id),
    repositoryDelivery: String(repositoryDelivery),
    orgHook: String(orgHook.id),
    orgDelivery: String(orgDelivery),
    ownHook: String(ownHook.id),
    ownDelivery: String(own[0].id),
    topic: "changed",
    deployKey: String(deployKey.id),
    systemHook: String(systemHook.id),
    systemDelivery: String(systemDelivery),
    type: "generic",
    name: "box",
    version: "1",
    filename: "lid",
    ref: "main",
    sha: "main",
    branch: "main",
    basehead: "main...main",
    filepath: "README.md",
    archive: "main.zip",
    secretname: "KEY",
    variablename: "AREA",
    rule: "main",
    collaborator: "mira",
    user: "hermit",
    target: "hermit",
    scope: "@scope",
    tag: "next",
    revision: "1-1",
  };
}

/** Makes `otto`, a vault account with a connected folder, and the callers. */
async function makeVaultObjects(): Promise<Record<string, string>> {
  const files = join(daemon.home, "files");
  // Below the account's own folder as well, whichever the root of a connection is resolved against.
  for (const folder of [join(files, "papers"), join(files, "otto", "papers")]) {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, `${CANARY}.txt`), CANARY);
  }
  const ids: Record<string, string> = {};
  for (const handle of ["otto", "mira", "dora"]) {
    const email = `${handle}@example.org`;
    const account = { handle, email, password: STRONG };
    ids[handle] = (await daemon.request("/api/auth/register", { json: account })).json.id;
    vaultTokens[handle] = await signIn(email, STRONG);
  }
  vaultTokens["administrator"] = await signIn(
    "keeper@croft.localhost",
    daemon.first?.password ?? "",
  );
  const bearer = vaultTokens["otto"] ?? "";
  const connection = await daemon.request("/api/cloud/connections", {
    bearer,
    json: { provider: "local_folder", display_name: CANARY, settings: { root: "papers" } },
  });
  expect(connection.status, connection.text).toBe(201);
  const { id } = connection.json;
  const listed = await daemon.request(`/api/cloud/connections/${id}/items`, { bearer });
  expect(listed.text).toContain(CANARY);
  const sessions = await daemon.request("/api/auth/sessions", { bearer });
  await daemon.request(`/api/admin/users/${ids["dora"]}/status`, {
    method: "PATCH",
    bearer: vaultTokens["administrator"] ?? "",
    json: { is_active: false },
  });
  return {
    connection_id: id,
    item_id: listed.json.items[0].id,
    id: sessions.json.items?.[0]?.id ?? sessions.json[0].id,
    provider: "dropbox",
    date: "2026-01-01",
  };
}

async function signIn(email: string, password: string): Promise<string> {
  return (await daemon.request("/api/auth/login", { json: { email, password } })).json.access_token;
}

/** Waits for the jobs that the setup started, and for the work in memory that enqueues more of them. */
async function untilQuiet(): Promise<void> {
  for (let before = "", same = 0; same < 3;) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    const after = readDatabase();
    same = after === before && countDueJobs() === 0 ? same + 1 : 0;
    before = after;
  }
}

/** Returns the number of jobs that run or are due. */
function countDueJobs(): number {
  const due = database.prepare(
    "SELECT COUNT(*) FROM jobs WHERE state = 'running' OR (state = 'waiting' AND run_at <= ?)",
  );
  return due.pluck().get(now) as number;
}

let lastRead = { version: -1, text: "" };

/** Every row of the database but those that record requests themselves, and languages, which a job counts at any time. */
function readDatabase(): string {
  // Thousands of tests compare the database before and after a request, and few requests write.
  const version = database.pragma("data_version", { simple: true }) as number;
  if (version !== lastRead.version) lastRead = { version, text: readRows() };
  return lastRead.text;
}

function readRows(): string {
  const tables = database
    .prepare(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'",
    )
    .all() as { name: string }[];
  return tables
    .filter(
      ({ name }) =>
        /^(?:forge|vault)_/.test(name) && !/_grams_|_fts_|^vault_audit|_languages$/.test(name),
    )
    .map(({ name }) => {
      const rows = database.prepare(`SELECT * FROM ${name}`).all() as Record<string, unknown>[];
      const kept = rows.map(({ last_used_at: _use, last_login_at: _login, ...row }) => row);
      return `${name} ${JSON.stringify(kept, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value))}`;
    })
    .join("\n");
}

/** The address of hermit's or otto's objects. */
function pathOf(declared: Endpoint, whose: Readonly<Record<string, string>> = parameters): string {
  const path = declared.path.replace(/\*{0,2}:(\w+)/g, (_, name: string) =>
    encodeURIComponent(whose[toParameter(declared.path, name)] ?? "1"),
  );
  return path + (QUERIES[declared.name] ?? "");
}

/** `id` means another thing in every group of routes. */
function toParameter(path: string, name: string): string {
  if (apiOf({ path }) === "vault") return name;
  if (path.includes("/hooks/:id") && (name === "id" || name === "delivery_id")) {
    const places = { "/admin/": "system", "/orgs/": "org", "/user/": "own" };
    const [, place] = Object.entries(places).find(([part]) => path.includes(part)) ?? [];
    return `${place ?? "repository"}${name === "id" ? "Hook" : "Delivery"}`;
  }
  if (name === "team" && path.startsWith("/api/v1/teams/")) return "teamId";
  if (name !== "id") return name;
  if (path.includes("/threads/")) return "thread";
  if (path.includes("/:repo/keys/")) return "deployKey";
  if (path.includes("/labels/")) return path.includes("/orgs/") ? "orgLabel" : "label";
  if (path.includes("/milestones/")) return "milestone";
  if (path.includes("/times/")) return "time";
  return path.includes("/comments/") ? "comment" : name;
}

/** Calls a route, and checks that it reveals nothing and changes nothing. Returns the status. */
async function probe(
  declared: Endpoint,
  as: TestRequest,
  whose: Readonly<Record<string, string>> = parameters,
): Promise<number> {
  const before = readDatabase();
  const hasBody = declared.method !== "GET" && declared.body !== undefined;
  const body: TestRequest = hasBody ? toBody(declared) : {};
  const answer = await daemon.request(pathOf(declared, whose), {
    method: declared.method,
    ...body,
    ...as,
    // Git LFS is refused another client before its rights are read.
    headers: { Accept: "application/vnd.git-lfs+json", ...body.headers, ...as.headers },
  });
  expect(answer.text).not.toContain(CANARY);
  expect(answer.status).toBeLessThan(500);
  if (isForeign(declared) || !isSuccess(answer.status)) expect(readDatabase()).toBe(before);
  return answer.status;
}

const isSuccess = (status: number) => status < 300;

/** Whether the path of a route names an object of another account, and not only where a client is configured. */
function isForeign({ path }: Endpoint): boolean {
  if (/\/npm\/-\/(?:ping|whoami)$/.test(path)) return false;
  return /:(?:username|owner|org|connection_id|item_id)\b|\/(?:hooks|threads|sessions)\/:id|\/teams\/:team\b/.test(
    path,
  );
}

const foreignForge = forge.filter(isForeign);

describe("an administrator's token for public things only", () => {
  const as = () => ({ token: forgeTokens["public-only"] ?? "" });

  test.each(named(foreignForge))("%s refuses it a private object", async (_name, declared) =>
    expect([403, 404]).toContain(await probe(declared, as())),
  );

  test.each(named(forge.filter((each) => !isForeign(each) && each.method === "GET")))(
    "%s shows it no private object",
    async (_name, declared) => {
      await probe(declared, as());
      for (const query of ["?q=hermit", "?q=hut", "?limit=50"])
        expect((await daemon.request(pathOf(declared) + query, as())).text).not.toMatch(
          /"hermit"|"hut"|"lodge"/,
        );
    },
  );

  test("it does not act as a private account", async () => {
    const answer = await daemon.request("/api/v1/user?sudo=hermit", as());
    expect(answer.status).toBe(403);
    expect(answer.text).not.toContain(CANARY);
  });

  test("it does not delete a private account's key through another account's address", async () => {
    const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";
    const admin = { token: forgeTokens["admin"] ?? "" };
    const made = await daemon.request("/api/v1/admin/users/hermit/keys", {
      ...admin,
      json: { title: "key", key },
    });
    expect(made.status, made.text).toBe(201);
    const path = `/api/v1/admin/users/root/keys/${made.json.id}`;
    expect((await daemon.request(path, { ...as(), method: "DELETE" })).status).toBe(404);
    expect((await daemon.request(path, { ...admin, method: "DELETE" })).status).toBe(204);
  });
});

describe("a token of a narrow scope", () => {
  const scoped = forge.filter(({ gate }) => "scope" in gate && gate.scope !== undefined);
  const scopeOf = ({ gate }: Endpoint) => ("scope" in gate ? (gate.scope ?? "") : "");

  test.each(named(scoped))("%s refuses one of another scope", async (_name, declared) =>
    expect(await probe(declared, { token: forgeTokens["unrelated"] ?? "" })).toBe(403),
  );

  test.each(named(scoped.filter(({ method }) => method !== "GET")))(
    "%s refuses one that may only read",
    async (_name, declared) => {
      const token = forgeTokens[`read:${scopeOf(declared)}`] ?? "";
      expect(await probe(declared, { token })).toBe(403);
    },
  );

  const payloads = forge.filter(({ path }) =>
    /^\/api\/v1\/admin\/hooks\/.*:delivery_id/.test(path),
  );
  test.each(named(payloads))(
    "%s refuses one for administration alone the payload of a push",
    async (_name, declared) =>
      expect(await probe(declared, { token: forgeTokens["write:admin"] ?? "" })).toBe(403),
  );
});

describe("an account without the right", () => {
  test.each(
    ["dora", "pia"].flatMap((user) => forge.map((each) => [each.name, user, each] as const)),
  )("%s refuses the deactivated or locked account %s", async (_name, user, declared) =>
    expect(await probe(declared, { token: forgeTokens[user] ?? "" })).toBe(403),
  );

  test.each(named(forge.filter(({ gate }) => gate.admits === "forge_site_admin")))(
    "%s refuses a demoted administrator",
    async (_name, declared) =>
      expect(await probe(declared, { token: forgeTokens["ada"] ?? "" })).toBe(403),
  );

  // The scope limits the rights of an administrator's token; it does not make its owner an administrator.
  test.each(
    ["mira read:admin", "mira all"].flatMap((token) =>
      forge
        .filter(({ gate }) => "scope" in gate && gate.scope === "admin")
        .map((each) => [each.name, token, each] as const),
    ),
  )("%s refuses the token %s of a regular account", async (_name, token, declared) => {
    const as = { token: forgeTokens[token] ?? "" };
    expect(await probe(declared, as)).toBe(403);
    if (declared.method !== "GET") return;
    for (const query of ["?q=hermit", "?visibility=private", "?sudo=root"])
      expect((await daemon.request(pathOf(declared) + query, as)).status).toBe(403);
  });

  test.each(
    ["mira", "rita"].flatMap((user) =>
      foreignForge.map((each) => [each.name, user, each] as const),
    ),
  )(
    "%s refuses a private object to %s, another or a restricted account",
    async (_name, user, declared) =>
      expect([401, 403, 404]).toContain(await probe(declared, { token: forgeTokens[user] ?? "" })),
  );
});

describe("the vault", () => {
  // An upload address is its own permission; no account is involved.
  const closed = vault.filter(
    ({ gate }) => gate.admits !== "anyone" && gate.admits !== "vault_upload_address",
  );

  test.each(named(closed))("%s refuses a deactivated account", async (_name, declared) =>
    expect(await probe(declared, { bearer: vaultTokens["dora"] ?? "" }, vaultParameters)).toBe(401),
  );

  test.each(named(vault.filter(isForeign)))(
    "%s does not find another account's object",
    async (_name, declared) => {
      const as = { bearer: vaultTokens["mira"] ?? "" };
      expect([404, 422]).toContain(await probe(declared, as, vaultParameters));
    },
  );

  test.each(named(vault.filter(({ gate }) => gate.admits === "vault_administrator")))(
    "%s refuses a demoted administrator",
    async (_name, declared) => {
      setRole("user");
      const as = { bearer: vaultTokens["administrator"] ?? "" };
      try {
        expect([401, 403]).toContain(await probe(declared, as, vaultParameters));
      } finally {
        setRole("admin");
      }
    },
  );

  function setRole(role: string): void {
    const db = new Sqlite(join(daemon.home, "croft.db"));
    db.prepare("UPDATE vault_users SET role = ? WHERE handle = 'keeper'").run(role);
    db.close();
    // Rows are cached for a tenth of a second. Not much more: the next delivery is due after ten seconds of this clock.
    now += 101;
  }
});
