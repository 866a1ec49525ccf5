import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../../support/daemon.ts";
import { type Receiver, startReceiver } from "../../../support/receiver.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { type FakeSystemOptions, type Ran, runCli, temporaryHome } from "../../support/run-cli.ts";

describe("a line becomes options", () => {
  test.each<[string, string, object]>([
    ["admin hook list", "--type all", { type: "all" }],
    ["admin hook view", "7", { hook: "7" }],
    ["admin hook delete", "7", { hook: "7" }],
    ["admin hook create", "http://a/", { url: "http://a/" }],
    [
      "admin hook create",
      "http://a/ --type slack --default --inactive --content-type form --event push create --branch-filter main " +
        "--name n --channel c --slack-username u --icon-url i --color r --secret-stdin",
      {
        url: "http://a/",
        type: "slack",
        default: true,
        inactive: true,
        contentType: "form",
        event: ["push", "create"],
        branchFilter: "main",
        name: "n",
        channel: "c",
        slackUsername: "u",
        iconUrl: "i",
        color: "r",
        secretStdin: true,
      },
    ],
    [
      "admin hook edit",
      "7 --target http://b/ --active false --clear-authorization-header",
      { hook: "7", target: "http://b/", active: "false", clearAuthorizationHeader: true },
    ],
    ["admin hook delivery list", "7 --state failed", { hook: "7", state: "failed" }],
    ["admin hook delivery view", "7 8", { hook: "7", delivery: "8" }],
    ["admin hook delivery redeliver", "7 8", { hook: "7", delivery: "8" }],
    ["admin cron run", "backup_database", { task: "backup_database" }],
  ])("%s %s", async (command, line, options) =>
    expect(await optionsOf(command, line.split(" "))).toMatchObject(options),
  );
});

let daemon: TestDaemon;
let receiver: Receiver;
let home: Awaited<ReturnType<typeof temporaryHome>>;
beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  receiver = await startReceiver();
  home = await temporaryHome();
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
});

function croft(line: string, options: Partial<FakeSystemOptions> = {}): Promise<Ran> {
  const env = {
    CROFT_URL: daemon.url,
    CROFT_FORGE_TOKEN: daemon.first?.forge.token ?? "",
    ...options.env,
  };
  return runCli(line.split(" "), { home: home.path, ...options, env });
}

async function done(line: string, options: Partial<FakeSystemOptions> = {}): Promise<Ran> {
  const ran = await croft(line, options);
  expect({ line, code: ran.code, err: ran.err }).toEqual({ line, code: 0, err: "" });
  return ran;
}

const jsonOf = async (line: string, options: Partial<FakeSystemOptions> = {}) =>
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  (await done(`${line} --json`, options)).json() as any;

describe("hooks", () => {
  test("create, view, list, edit and delete", async () => {
    const made = await jsonOf(
      `admin hook create ${receiver.url}/a --secret-stdin --event issues_only`,
      { stdin: "quiet\n" },
    );
    expect(made).toMatchObject({
      active: true,
      type: "gitea",
      events: ["issues"],
      config: { content_type: "json" },
    });
    expect(JSON.stringify(made)).not.toContain("quiet");
    const { id } = made as { id: number };
    expect(await jsonOf(`admin hook view ${id}`)).toEqual(made);
    const copied = await jsonOf(`admin hook create ${receiver.url}/b --default --inactive`);
    expect(copied).toMatchObject({ active: false });
    const idsOf = async (line: string) =>
      ((await jsonOf(line)) as { id: number }[]).map((each) => each.id);
    expect(await idsOf("admin hook list")).toEqual([id]);
    expect(await idsOf("admin hook list --type default")).toEqual([copied.id]);
    expect(await idsOf("admin hook list --type all --all --limit 1")).toEqual([id, copied.id]);
    expect((await croft("admin hook list --type other --json")).code).toBe(2);
    const edited = await jsonOf(`admin hook edit ${id} --branch-filter main --name label`);
    expect(edited).toMatchObject({
      events: ["issues"],
      branch_filter: "main",
      name: "label",
      active: true,
    });
    const again = await jsonOf(`admin hook edit ${id} --active false --target ${receiver.url}/c`);
    expect(again).toMatchObject({
      events: ["issues"],
      branch_filter: "main",
      active: false,
      config: { url: `${receiver.url}/c` },
    });
    expect((await croft(`admin hook edit ${id} --json`)).code).toBe(2);
    expect((await croft("admin hook create nonsense --json")).code).toBe(12);
    expect((await croft(`admin hook delete ${id} --json`)).error()).toMatchObject({
      code: "missing_input",
      hint: "give --yes",
    });
    expect(await jsonOf(`admin hook delete ${id} --yes`)).toEqual({
      deleted: true,
      id: String(id),
    });
    expect((await croft(`admin hook view ${id} --json`)).code).toBe(6);
    await done(`admin hook delete ${copied.id} --yes`);
  });

  test("an authorization header stays until it is cleared", async () => {
    const { id } = await jsonOf(
      `admin hook create ${receiver.url}/auth --event repository --authorization-header-stdin`,
      { stdin: "Bearer abc\n" },
    );
    const sends = async (name: string, count: number) => {
      await daemon.request("/api/v1/admin/users/keeper/repos", {
        token: daemon.first?.forge.token ?? "",
        json: { name },
      });
      return (await receiver.waitFor(count, ({ path }) => path === "/auth"))[count - 1]?.headers[
        "authorization"
      ];
    };
    await done(`admin hook edit ${id} --name kept`);
    expect(await sends("one", 1)).toBe("Bearer abc");
    await done(`admin hook edit ${id} --clear-authorization-header`);
    expect(await sends("two", 2)).toBeUndefined();
    const both = await croft(
      `admin hook create ${receiver.url} --secret-stdin --authorization-header-stdin --json`,
      { stdin: "x" },
    );
    expect(both.code).toBe(2);
    await done(`admin hook delete ${id} --yes`);
  });

  test("deliveries are listed, shown and repeated", async () => {
    const { id } = await jsonOf(`admin hook create ${receiver.url}/log --event repository`);
    await daemon.request("/api/v1/admin/users/keeper/repos", {
      token: daemon.first?.forge.token ?? "",
      json: { name: "logged" },
    });
    const [sent] = await receiver.waitFor(1, ({ path }) => path === "/log");
    const [entry] = await jsonOf(`admin hook delivery list ${id}`);
    expect(entry).toMatchObject({ event: "repository", redelivery: false });
    const shown = await jsonOf(`admin hook delivery view ${id} ${entry.id}`);
    expect(shown.request.body).toBe(sent?.body);
    expect(await jsonOf(`admin hook delivery redeliver ${id} ${entry.id}`)).toMatchObject({
      redelivery: true,
    });
    await receiver.waitFor(2, ({ path }) => path === "/log");
    expect(await jsonOf(`admin hook delivery list ${id} --state failed`)).toEqual([]);
    expect((await croft(`admin hook delivery list ${id} --state other --json`)).code).toBe(2);
    expect((await croft(`admin hook delivery view ${id} 999999 --json`)).code).toBe(6);
  });
});

describe("scheduled tasks", () => {
  test("list and run", async () => {
    const tasks = (await jsonOf("admin cron list --all --limit 3")) as { name: string }[];
    expect(tasks.map(({ name }) => name)).toContain("backup_database");
    expect(await jsonOf("admin cron run backup_database")).toEqual({
      started: true,
      task: "backup_database",
    });
    const ran = await jsonOf("admin cron list --all");
    expect(ran).toContainEqual(expect.objectContaining({ name: "backup_database", exec_times: 1 }));
    const unknown = await croft("admin cron run unknown --json");
    expect([unknown.code, unknown.err]).toEqual([6, expect.stringContaining("cron list")]);
    expect((await croft("admin cron run backup_home")).err).toContain("backup_folder");
  });

  test("a run of a disabled task is refused with the reason", async () => {
    const refused = await croft("admin cron run sync_external_users --json");
    expect(refused.code).toBe(15);
    expect(refused.err).toContain("sync_external_users is disabled");
  });
});
