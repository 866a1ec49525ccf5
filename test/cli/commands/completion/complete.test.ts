import { join } from "node:path";
import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { createContext } from "../../../../cli/context.ts";
import { completionOfFlag } from "../../../../cli/commands/completion/kinds.ts";
import { run } from "../../../../cli/main.ts";
import { neverStopping } from "../../../../cli/report.ts";
import { commands } from "../../../../cli/program.ts";
import { loadAllCommands } from "../../../../cli/tree/command-tree.ts";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { fakeSystem, runCli, temporaryHome } from "../../support/run-cli.ts";
import { readEntry, signIn } from "../../support/signed-in.ts";

/** A busy machine must not leave values out. */
const patient = { CROFT_COMPLETION_MS: "60000" };

/** Returns croft's completions of the last word of a line. */
async function complete(home: string, ...words: readonly string[]): Promise<string> {
  const ran = await runCli(["__complete", "--", ...words], { home, env: patient });
  expect(ran).toMatchObject({ code: 0, err: "" });
  return ran.out;
}

/** Returns the completions without their descriptions. */
async function completeWords(line: string): Promise<readonly string[]> {
  const out = await complete("/nowhere", ...line.split(" "));
  return out.split("\n").flatMap((one) => (one === "" ? [] : [one.replace(/(?<=.)\t.*/, "")]));
}

/** The line after which the shell adds names of local files. */
const files = "\tfiles";

describe("words of the line", () => {
  test.each([
    ["adm", ["admin"]],
    ["daemon st", ["start", "status", "stop"]],
    ["admin user li", ["list"]],
    ["--profile work admin user li", ["list"]],
    ["--profile=work admin user li", ["list"]],
    ["admin user list --sea", ["--search"]],
    // An alias is followed, but not offered.
    ["admin user ls --sea", ["--search"]],
    ["admin user l", ["list"]],
    ["__comp", []],
    ["config list --format ", ["json", "csv", "tsv", "yaml"]],
    ["job list --state w", ["waiting"]],
    ["job list --state=w", ["--state=waiting"]],
    ["job list --state nothing", []],
    ["job list --all=x", []],
    ["job list --nonsense=x", []],
    ["job list --json=", []],
    ["admin user edit mira --admin ", ["true", "false"]],
    ["issue list mira/notes --state ", ["open", "closed", "all"]],
    ["issue list mira/notes -s ", ["open", "closed", "all"]],
    ["issue list --state=o mira/notes --state=c", ["--state=closed"]],
    ["token create x --scope write:rep", ["write:repository"]],
    ["issue create mira/notes ", []],
    ["issue view -- --js", []],
    ["vault item download --output ", [files]],
    ["vault item download --output=x", [files]],
    ["vault item upload x", [files]],
    ["vault item put home:/", []],
  ])("%s is completed", async (line, words) => {
    expect(await completeWords(line)).toEqual(words);
  });

  test("an empty line is completed to the commands that help shows, with their summaries", async () => {
    const out = await complete("/nowhere", "");
    expect(out).toMatch(/^init\tInitialise a home/);
    expect(out).toContain("\nadmin\tAdminister the forge\n");
    expect(out).not.toContain("__complete");
  });

  test("words are completed however late the process is, and with values turned off", async () => {
    const late = { home: "/nowhere", env: { CROFT_COMPLETION_MS: "0" }, elapsedMs: 60_000 };
    const { out } = await runCli(["__complete", "--", "daemon", "sta"], late);
    expect(out.split("\n").map((one) => one.split("\t")[0])).toEqual(["start", "status", ""]);
  });
});

describe("values of the home", () => {
  test("profiles, settings and commands need no daemon", async () => {
    await using home = await temporaryHome();
    await runCli(["profile", "add", "work", "--url", "https://croft.example"], { home: home.path });
    const profiles = "work\thttps://croft.example\n";
    expect(await complete(home.path, "repo", "list", "--profile", "")).toBe(profiles);
    expect(await complete(home.path, "--profile", "w")).toBe(profiles);
    expect(await complete(home.path, "config", "get", "public")).toMatch(/^public_url\t/);
    expect(await complete(home.path, "help", "mile")).toMatch(/^milestone\t/);
    expect(await complete(home.path, "logout", "v")).toBe("vault\t\n");
  });
});

const owner = { id: 1, login: "mira", username: "mira", full_name: "Mira" };
const repository = { full_name: "mira/notes", description: "Notes" };

describe("values of the forge", () => {
  test.each([
    ["users", ["admin", "user", "view", "mi"], "GET /api/v1/admin/users", [owner], "mira\tMira\n"],
    [
      "repositories",
      ["repo", "view", "mira/n"],
      "GET /api/v1/repos/search",
      { ok: true, data: [repository] },
      "mira/notes\tNotes\n",
    ],
    [
      "repositories before a number",
      ["issue", "view", "mira/n"],
      "GET /api/v1/repos/search",
      { ok: true, data: [repository] },
      "mira/notes#\tNotes\n",
    ],
    [
      "issues",
      ["issue", "view", "mira/notes#"],
      "GET /api/v1/repos/mira/notes/issues",
      [{ number: 7, title: "Broken\u001b[31m" }],
      "mira/notes#7\tBroken\n",
    ],
    [
      "runs",
      ["run", "view", "mira/notes/"],
      "GET /api/v1/repos/mira/notes/actions/runs",
      { workflow_runs: [{ id: 12, display_title: "push" }], total_count: 1 },
      "mira/notes/12\tpush\n",
    ],
    [
      "jobs of runs",
      ["run", "log", "mira/notes/"],
      "GET /api/v1/repos/mira/notes/actions/jobs",
      { jobs: [{ id: 3, name: "test" }], total_count: 1 },
      "mira/notes/3\ttest\n",
    ],
    [
      "threads",
      ["notification", "mark", "1", ""],
      "GET /api/v1/notifications",
      [{ id: 5, subject: { title: "Hello" } }],
      "5\tHello\n",
    ],
    [
      "hooks of the site",
      ["admin", "hook", "view", ""],
      "GET /api/v1/admin/hooks",
      [{ id: 2, config: { url: "https://ci.example" } }],
      "2\thttps://ci.example\n",
    ],
    [
      "hooks of a repository",
      ["repo", "hook", "view", "mira/notes", ""],
      "GET /api/v1/repos/mira/notes/hooks",
      [{ id: 3, config: { url: "https://ci.example" } }],
      "3\thttps://ci.example\n",
    ],
    [
      "cron tasks",
      ["admin", "cron", "run", "del"],
      "GET /api/v1/admin/cron",
      [
        { name: "delete_old", schedule: "@daily" },
        { name: "other", schedule: "@daily" },
      ],
      "delete_old\t@daily\n",
    ],
    [
      "labels",
      ["issue", "edit", "mira/notes#7", "--add-label", ""],
      "GET /api/v1/repos/mira/notes/labels",
      [
        { name: "needs work", description: "More" },
        { name: "-rf", description: "" },
      ],
      "needs work\tMore\n",
    ],
    [
      "branches",
      ["repo", "log", "mira/notes", ""],
      "GET /api/v1/repos/mira/notes/branches",
      [{ name: "main", commit: { message: "First\n\nbody" } }],
      "main\tFirst\n",
    ],
    [
      "runners of a repository",
      ["runner", "view", "--repo", "mira/notes", ""],
      "GET /api/v1/repos/mira/notes/actions/runners",
      { runners: [{ id: 4, name: "box" }], total_count: 1 },
      "4\tbox\n",
    ],
    [
      "teams",
      ["team", "view", "acme/"],
      "GET /api/v1/orgs/acme/teams",
      [{ name: "writers", permission: "write", organization: { name: "acme" } }],
      "acme/writers\twrite\n",
    ],
  ])("%s come from the daemon", async (_what, words, route, body, out) => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({ [route]: { body } });
    await signIn(home.path, { url: daemon.url, forgeToken: "secret" });
    expect(await complete(home.path, ...words)).toBe(out);
    expect(daemon.requests[0]?.headers["authorization"]).toBe("token secret");
  });

  test("at most 100 values are printed", async () => {
    await using home = await temporaryHome();
    const body = Array.from({ length: 300 }, (_, index) => ({ ...owner, username: `u${index}` }));
    await using daemon = await fakeDaemon({ "GET /api/v1/admin/users": { body } });
    await signIn(home.path, { url: daemon.url, forgeToken: "secret" });
    expect((await complete(home.path, "user", "view", "u")).split("\n")).toHaveLength(101);
  });

  test("uses the profile and address of the command line", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/v1/admin/cron": { body: [{ name: "delete_old", schedule: "@daily" }] },
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "secret" });
    const line = ["admin", "cron", "run", ""];
    expect(await complete(home.path, "--profile", "default", ...line)).not.toBe("");
    expect(await complete(home.path, "--profile", "other", ...line)).toBe("");
    expect(await complete(home.path, "--profile=default", ...line)).not.toBe("");
    expect(await complete(home.path, "--profile=other", ...line)).toBe("");
    // A token goes to its own daemon only.
    expect(await complete(home.path, "--url", "https://croft.example", ...line)).toBe("");
  });
});

describe("values of the vault", () => {
  test.each([
    ["document view", "GET /api/documents", { id: "d1", filename: "bill.pdf" }, "d1\tbill.pdf\n"],
    ["share edit", "GET /api/shares", { id: "s1", recipient_handle: "noor" }, "s1\twith noor\n"],
    ["share create d1 --to", "GET /api/shares", { id: "s1", recipient_handle: "noor" }, "noor\t\n"],
    ["topic edit", "GET /api/topics", { name: "Taxes", description: "VAT" }, "Taxes\tVAT\n"],
  ])("values of vault %s come from the daemon", async (line, route, item, out) => {
    await using home = await temporaryHome();
    const body = { items: [item], total: 1, page: 1, per_page: 100 };
    await using daemon = await fakeDaemon({ [route]: { body } });
    await signIn(home.path, { url: daemon.url, vault: {} });
    expect(await complete(home.path, "vault", ...line.split(" "), "")).toBe(out);
  });

  test("values of connections come from the daemon", async () => {
    await using home = await temporaryHome();
    const body = {
      items: [{ display_name: "home", provider: "local_folder" }],
      total: 1,
      page: 1,
      per_page: 100,
    };
    await using daemon = await fakeDaemon({ "GET /api/cloud/connections": { body } });
    await signIn(home.path, { url: daemon.url, vault: {} });
    expect(await complete(home.path, "vault", "connection", "view", "")).toBe(
      "home\tlocal_folder\n",
    );
  });

  test("values of items come folder by folder, without names that a terminal would act on", async () => {
    await using home = await temporaryHome();
    const connection = { id: "c1", display_name: "home", provider: "local_folder" };
    const items = [
      { name: "docs", kind: "folder", provider_item_id: "docs" },
      { name: "a b.txt", kind: "file", provider_item_id: "a" },
      { name: "x\u001b]0;y\u0007", kind: "file", provider_item_id: "x" },
      { name: "two\nlines", kind: "file", provider_item_id: "two" },
      { name: "back\\slash", kind: "file", provider_item_id: "b" },
    ];
    await using daemon = await fakeDaemon({
      "GET /api/cloud/connections": {
        body: { items: [connection], total: 1, page: 1, per_page: 100 },
      },
      "GET /api/cloud/connections/c1/items": { body: { items, next_cursor: null } },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const list = (word: string) => complete(home.path, "vault", "item", "ls", word);
    expect(await list("ho")).toBe("home:/\tlocal_folder\n");
    expect(await list("home:/do")).toBe("home:/docs/\tfolder\n");
    expect(await list("home:/")).toBe(
      "home:/docs/\tfolder\nhome:/a b.txt\tfile\nhome:/back\\slash\tfile\n",
    );
  });
});

describe("values are omitted without an error", () => {
  test.each([
    ["no daemon and no sign-in", ["vault", "connection", "view", ""]],
    ["an unknown command", ["nonsense", ""]],
    ["an argument that only the person knows", ["issue", "create", "mira/notes", ""]],
  ])("completes nothing, without an error: %s", async (_case, words) => {
    await using home = await temporaryHome();
    expect(await complete(home.path, ...words)).toBe("");
  });

  test("completion starts no daemon and prints no message in any environment", async () => {
    await using home = await temporaryHome();
    await signIn(home.path, { url: "http://127.0.0.1:9", profileUrl: null, forgeToken: "secret" });
    await writeFile(join(home.path, "croft.lock"), "");
    await writeFile(join(home.path, "config.yaml"), "nonsense: [");
    const env = { ...patient, CROFT_NONSENSE: "1", CROFT_TOKEN_COMMAND: "touch asked" };
    const line = ["__complete", "--", "admin", "cron", "run", ""];
    const ran = await runCli(line, { home: home.path, env });
    expect(ran).toMatchObject({ code: 0, out: "", err: "" });
    await expect(readFile(join(home.path, "asked"))).rejects.toThrow("ENOENT");
  });

  test("completes nothing when the daemon refuses", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({ "GET /api/v1/admin/cron": { status: 403, body: {} } });
    await signIn(home.path, { url: daemon.url, forgeToken: "secret" });
    expect(await complete(home.path, "admin", "cron", "run", "")).toBe("");
  });

  test("completion gives up on a daemon that does not answer in time", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/v1/admin/cron": () => new Promise(() => undefined),
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "secret" });
    const system = fakeSystem({ home: home.path, env: { CROFT_COMPLETION_MS: "150" } });
    const code = await run(["__complete", "--", "admin", "cron", "run", ""], system);
    expect([code, system.written.out(), system.written.err()]).toEqual([0, "", ""]);
    // The process does not wait for running requests.
    expect(system.exits).toEqual([0]);
  });

  test("a process that started too slowly sends no request", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({});
    await signIn(home.path, { url: daemon.url, forgeToken: "secret" });
    const ran = await runCli(["__complete", "--", "admin", "cron", "run", ""], {
      home: home.path,
      elapsedMs: 1_000,
    });
    expect(ran).toMatchObject({ code: 0, out: "", err: "" });
    expect(daemon.requests).toEqual([]);
  });

  test("an expired session is renewed by a background process", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({});
    await signIn(home.path, { url: daemon.url, vault: { access_expires_at: 0 } });
    const noted = join(home.path, "noted");
    const ran = await runCli(
      ["__complete", "--", "--profile", "default", "vault", "share", "edit", ""],
      {
        home: home.path,
        env: patient,
        program: ["/bin/sh", "-c", `printf '%s\n' "$@" > '${noted}'`, "croft"],
      },
    );
    expect(ran).toMatchObject({ code: 0, out: "", err: "" });
    await expect
      .poll(() => readFile(noted, "utf8").catch(() => ""))
      .toBe("__complete\n--renew\n--profile\ndefault\n");
    expect(daemon.requests).toEqual([]);
  });

  test("--renew renews the session once and prints nothing", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/auth/refresh": {
        body: { access_token: "access-2" },
        headers: { "Set-Cookie": "refresh_token=refresh-2; Max-Age=57600" },
      },
    });
    await signIn(home.path, { url: daemon.url, vault: { access_expires_at: 0 } });
    const ran = await runCli(["__complete", "--renew"], { home: home.path });
    expect(ran).toMatchObject({ code: 0, out: "", err: "" });
    expect(await readEntry(home.path, "vault")).toMatchObject({ refresh_token: "refresh-2" });
  });
});

test("each flag whose help begins with its values is completed to them", async () => {
  const cli = createContext(fakeSystem({ home: "/nowhere" }), neverStopping);
  const missing = (await loadAllCommands(cli, commands)).flatMap(({ line, module, command }) =>
    command.options
      .filter((option) => option.required)
      .flatMap((option) => {
        const named = /^([a-z0-9_-]+(?:, [a-z0-9_-]+)* or [a-z0-9_-]+)(?:[;:]|$)/.exec(
          option.description,
        );
        const words = named?.[1]?.split(/, | or /) ?? [];
        const known = completionOfFlag(line, module, option);
        const isKnown = words.every((word) => Array.isArray(known) && known.includes(word));
        return isKnown ? [] : [`${line} ${option.long}: ${option.description}`];
      }),
  );
  expect(missing).toEqual([]);
});
