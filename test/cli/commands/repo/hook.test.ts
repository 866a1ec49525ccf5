import { expect, test } from "vitest";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { optionsOf, refusalOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";
import { signIn } from "../../support/signed-in.ts";

const hook = {
  id: 7,
  name: "",
  type: "gitea",
  branch_filter: "main",
  config: { url: "https://a.example/", content_type: "json" },
  events: ["push", "issues"],
  authorization_header: "",
  active: true,
  updated_at: "2026-11-20T12:00:00Z",
  created_at: "2026-11-20T12:00:00Z",
};
const delivery = {
  id: 3,
  hook_id: 7,
  uuid: "u",
  event: "push",
  state: "delivered",
  attempts: 1,
  redelivery: false,
  created_at: "2026-11-20T12:00:00Z",
  attempted_at: "2026-11-20T12:00:00Z",
  next_attempt_at: null,
  duration_ms: 4,
  response_status: 204,
  error: null,
};
const path = "/api/v1/repos/mira/notes/hooks";

test("lines become options", async () => {
  expect(
    await optionsOf("repo hook create", ["mira/notes", "https://a", "--event", "push"]),
  ).toEqual({ repository: { owner: "mira", repo: "notes" }, url: "https://a", event: ["push"] });
  expect(await optionsOf("repo hook test", ["mira/notes", "7", "--ref", "main"])).toEqual({
    repository: { owner: "mira", repo: "notes" },
    hook: "7",
    ref: "main",
  });
  expect(await refusalOf("repo hook edit", ["mira/notes", "7"])).toContain("nothing to change");
  expect(await refusalOf("repo hook test", ["notes", "7"])).toContain("OWNER/NAME");
});

test.each([
  ["repo hook create mira/notes https://a.example", "repo hook edit mira/notes 7"],
  ["org hook create guild https://a.example", "org hook edit guild 7"],
  ["account hook create https://a.example", "account hook edit 7"],
  ["admin hook create https://a.example", "admin hook edit 7"],
])("%s and %s refuse an event that no hook has, and send nothing", async (...lines) => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({});
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  for (const line of lines) {
    for (const events of [["nonsuch"], ["push", "nonsuch"], ["push,pushs"]]) {
      const words = [...line.split(" "), "--json", "--event", ...events];
      const ran = await runCli(words, { home: home.path });
      expect(ran.error()).toMatchObject({ code: "usage", exit_code: 2 });
      expect(ran.error()["message"]).toMatch(
        /^--event takes create, .* or .*, not "(?:nonsuch|pushs)"/,
      );
    }
  }
  expect(daemon.requests).toEqual([]);
});

test("events are separated by commas or blanks, in any case", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({ [`POST ${path}`]: { status: 201, body: hook } });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const words = ["repo", "hook", "create", "mira/notes", "https://a.example"];
  const ran = await runCli([...words, "--event", "Push,issues_only", "wiki"], { home: home.path });
  expect(ran.code, ran.err).toBe(0);
  expect(daemon.requests[0]?.json()).toMatchObject({ events: ["push", "issues_only", "wiki"] });
});

test("--url is the address of a new hook that has no other, and the daemon's beside one", async () => {
  await using home = await temporaryHome();
  const answer = { status: 201, body: hook };
  await using daemon = await fakeDaemon({
    [`POST ${path}`]: answer,
    "POST /api/v1/user/hooks": answer,
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const create = async (line: string) => {
    const ran = await runCli([...line.split(" "), "--event", "push"], { home: home.path });
    expect(ran.code, ran.err).toBe(0);
    const sent = daemon.requests.at(-1)?.json() as { config: { url: string } } | undefined;
    return sent?.config.url;
  };
  expect(await create("repo hook create mira/notes --url https://a.example/x")).toBe(
    "https://a.example/x",
  );
  expect(await create("account hook create --url=https://b.example")).toBe("https://b.example");
  const icon = "--type slack --channel x --icon-url https://i.example";
  expect(await create(`account hook create ${icon} --url https://c.example`)).toBe(
    "https://c.example",
  );
  expect(await create(`account hook create --url ${daemon.url} --inactive https://d.example`)).toBe(
    "https://d.example",
  );
  const edited = await runCli(
    ["repo", "hook", "edit", "mira/notes", "7", "--url", "https://a.example"],
    { home: home.path },
  );
  expect(edited.code).toBe(2);
  expect(edited.err).toContain("--target <url> changes where deliveries are sent");
});

test("each command calls its operation and prints its answer", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    [`GET ${path}`]: { body: [hook], headers: { "X-Total-Count": "1" } },
    [`POST ${path}`]: { status: 201, body: hook },
    [`GET ${path}/7`]: { body: hook },
    [`PATCH ${path}/7`]: { body: hook },
    [`DELETE ${path}/7`]: { status: 204 },
    [`POST ${path}/7/tests`]: { status: 204 },
    [`GET ${path}/7/deliveries`]: { body: [delivery], headers: { "X-Total-Count": "1" } },
    [`POST ${path}/7/deliveries/3/redeliver`]: { status: 201, body: delivery },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const run = (...line: readonly string[]) =>
    runCli(["repo", "hook", ...line, "--json"], { home: home.path });
  expect((await run("list", "mira/notes")).json()).toEqual([hook]);
  expect((await run("create", "mira/notes", "https://a.example/")).json()).toEqual(hook);
  expect(daemon.requests.at(-1)?.json()).toEqual({
    type: "gitea",
    config: { url: "https://a.example/", content_type: "json" },
    active: true,
  });
  expect((await run("view", "mira/notes", "7")).json()).toEqual(hook);
  expect((await run("edit", "mira/notes", "7", "--active", "false")).json()).toEqual(hook);
  expect(daemon.requests.at(-1)?.json()).toEqual({
    config: {},
    events: ["push", "issues_only"],
    branch_filter: "main",
    active: false,
  });
  expect((await run("test", "mira/notes", "7")).json()).toEqual({
    asked: true,
    full_name: "mira/notes",
    id: "7",
  });
  expect((await run("delivery", "list", "mira/notes", "7")).json()).toEqual([delivery]);
  const wrong = await run("delivery", "list", "mira/notes", "7", "--state", "odd");
  expect(wrong.code).toBe(2);
  expect((await run("delivery", "redeliver", "mira/notes", "7", "3")).json()).toEqual(delivery);
  expect((await run("delete", "mira/notes", "7")).code).toBe(2);
  expect((await run("delete", "mira/notes", "7", "--yes")).json()).toMatchObject({ deleted: true });
});

test.each([
  [
    "organization",
    ["org", "hook"],
    ["guild"],
    "/api/v1/orgs/guild/hooks",
    { organization: "guild" },
  ],
  ["own", ["account", "hook"], [], "/api/v1/user/hooks", {}],
] as const)(
  "hooks of scope %s are at their own address",
  async (scope, words, place, at, names) => {
    const options = await optionsOf([...words, "view"].join(" "), [...place, "7"]);
    expect(options).toEqual({
      ...(scope === "own" ? {} : { organization: "guild" }),
      hook: "7",
    });
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      [`GET ${at}`]: { body: [hook], headers: { "X-Total-Count": "1" } },
      [`POST ${at}`]: { status: 201, body: hook },
      [`GET ${at}/7`]: { body: hook },
      [`PATCH ${at}/7`]: { body: hook },
      [`DELETE ${at}/7`]: { status: 204 },
      [`GET ${at}/7/deliveries`]: { body: [delivery], headers: { "X-Total-Count": "1" } },
      [`POST ${at}/7/deliveries/3/redeliver`]: { status: 201, body: delivery },
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    const run = (verbs: string, ...rest: readonly string[]) =>
      runCli([...words, ...verbs.split(" "), ...place, ...rest, "--json"], { home: home.path });
    expect((await run("list")).json()).toEqual([hook]);
    expect((await run("create", "https://a.example/", "--event", "push")).json()).toEqual(hook);
    expect((await run("view", "7")).json()).toEqual(hook);
    expect((await run("edit", "7", "--active", "true")).json()).toEqual(hook);
    expect((await run("delivery list", "7")).json()).toEqual([delivery]);
    expect((await run("delivery redeliver", "7", "3")).json()).toEqual(delivery);
    expect((await run("delete", "7", "--yes")).json()).toEqual({
      deleted: true,
      ...names,
      id: "7",
    });
  },
);
