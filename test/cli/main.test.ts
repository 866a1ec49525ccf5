import { Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { run } from "../../cli/main.ts";
import { version } from "../../cli/version.ts";
import { fakeDaemon } from "./support/fake-daemon.ts";
import { fakeSystem, openInput, runCli, temporaryHome, toRan } from "./support/run-cli.ts";
import { signIn } from "./support/signed-in.ts";

describe("a command line", () => {
  test("prints the version without loading the program", async () => {
    const ran = await runCli(["--version"], { home: "/nowhere" });
    expect(ran).toMatchObject({ code: 0, out: `croft ${version}\n`, err: "" });
  });

  test("a command line without words prints the help", async () => {
    const ran = await runCli([], { home: "/nowhere" });
    expect(ran.code).toBe(0);
    expect(ran.out).toContain("Usage: croft COMMAND [flags]");
    expect(ran.out).not.toContain("__complete");
  });

  test("asks for the help of a command or group in two ways", async () => {
    for (const words of [
      ["admin", "user"],
      ["vault", "item", "upload"],
    ]) {
      const requested = await runCli(["help", ...words], { home: "/nowhere" });
      const flagged = await runCli([...words, "--help"], { home: "/nowhere" });
      expect(requested).toMatchObject({ code: 0, out: flagged.out });
    }
    expect(await runCli(["help", "nothing"], { home: "/nowhere" })).toMatchObject({
      code: 2,
      out: "",
    });
  });

  test("asks for the help of a command as JSON", async () => {
    const page = await runCli(["help", "admin", "user"], { home: "/nowhere" });
    const ran = await runCli(["help", "admin", "user", "--json"], { home: "/nowhere" });
    expect(ran.json()).toEqual({ command: "admin user", text: page.out });
    expect((await runCli(["help", "--json=command"], { home: "/nowhere" })).json()).toEqual({
      command: "",
    });
    const none = await runCli(["help", "nothing", "--json"], { home: "/nowhere" });
    expect(none).toMatchObject({ code: 2, out: "" });
    expect(none.error()).toMatchObject({ code: "unknown_command" });
  });

  test("a command line that stops at a group is a usage error", async () => {
    const ran = await runCli(["admin", "user"], { home: "/nowhere" });
    expect(ran).toMatchObject({ code: 2, out: "" });
    expect(ran.err).toBe(
      'croft: "croft admin user" takes a command\n"croft admin user --help" lists them\n',
    );
  });

  test("a command line with an unknown command suggests similar ones", async () => {
    const ran = await runCli(["admin", "usr", "--json"], { home: "/nowhere" });
    expect(ran.code).toBe(2);
    expect(ran.error()).toMatchObject({
      code: "unknown_command",
      exit_code: 2,
      message: 'unknown command "usr" for "croft admin"; did you mean user?',
    });
  });

  test("knows a command whose letters were swapped", async () => {
    const ran = await runCli(["admni", "user", "list"], { home: "/nowhere" });
    expect(ran.err).toContain('unknown command "admni" for "croft"; did you mean admin?');
  });

  test("knows a command by the beginning of its name", async () => {
    const ran = await runCli(["notif", "list"], { home: "/nowhere" });
    expect(ran.err).toContain('unknown command "notif" for "croft"; did you mean notification?');
  });

  test("takes common flags before, between and after the words of the command", async () => {
    for (const words of [
      ["--json", "config", "get", "port"],
      ["config", "--json", "get", "port"],
      ["config", "get", "port", "--json"],
      ["--profile", "default", "config", "get", "port", "--json"],
      ["config", "get", "--json", "--", "port"],
    ]) {
      await using home = await temporaryHome();
      const ran = await runCli(words, { home: home.path });
      expect(ran.json(), words.join(" ")).toMatchObject({ key: "port", value: 7420 });
    }
  });

  test("takes a flag of the command before it", async () => {
    const line = ["--name", "x", "vault", "connection", "add", "--no-input"];
    const ran = await runCli(line, { home: "/nowhere" });
    expect(ran).toMatchObject({ code: 2, out: "" });
    expect(ran.err).toContain("PROVIDER is missing, and prompting is not possible");
  });

  test("a command line with --dry-run prints the whole request, even if fields of the result are selected", async () => {
    const names = ["--username", "mira", "--email", "mira@example.org"];
    const line = ["admin", "user", "create", ...names, "--random-password", "--dry-run"];
    const options = { home: "/nowhere", env: { CROFT_URL: "http://127.0.0.1:9" } };
    const whole = await runCli([...line, "--json"], options);
    expect(whole.json()).toMatchObject({ dry_run: true, request: { method: "POST" } });
    const chosen = await runCli([...line, "--json=login"], options);
    expect(chosen.json()).toEqual(whole.json());
  });

  test("a command line does nothing when its output could not be made", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({});
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    const line = ["admin", "user", "create", "--username", "m", "--email", "m@example.org"];
    for (const flags of [
      ["--jq", ".["],
      ["--template", "{{login}}"],
    ]) {
      const ran = await runCli([...line, "--random-password", ...flags], { home: home.path });
      expect(ran).toMatchObject({ code: 2, out: "" });
      expect(ran.error()).toMatchObject({ code: "usage" });
    }
    expect(daemon.requests).toEqual([]);
  });

  test("ends its flags at --", async () => {
    const ran = await runCli(["config", "get", "--", "--json"], { home: "/nowhere" });
    expect(ran).toMatchObject({ code: 6, out: "" });
    expect(ran.err).toContain('there is no setting "--json"');
  });

  test("a command line does not take the next argument for a field of --json", async () => {
    await using home = await temporaryHome();
    const ran = await runCli(["config", "get", "--json", "port"], { home: home.path });
    expect(ran.json()).toMatchObject({ key: "port" });
  });

  test("prints one JSON line for a failure in every machine mode, and nothing on standard output", async () => {
    for (const mode of [
      ["--json"],
      ["--json=key"],
      ["--ndjson"],
      ["--format", "csv"],
      ["--jq", "."],
      ["--template", "x"],
    ]) {
      const ran = await runCli(["config", "get", "nothing", ...mode], { home: "/nowhere" });
      expect(ran, mode.join(" ")).toMatchObject({ code: 6, out: "" });
      expect(ran.error()).toEqual({
        code: "not_found",
        exit_code: 6,
        http_status: null,
        message: 'there is no setting "nothing"',
        hint: '"croft config list" shows all of them',
        service: null,
        kind: null,
        reason: null,
        request_id: null,
        retry_after_s: null,
      });
    }
  });

  test("refuses modes that exclude each other", async () => {
    const ran = await runCli(["version", "--jq", ".", "--template", "x"], { home: "/nowhere" });
    expect(ran.error()).toMatchObject({
      code: "usage",
      message: "--jq and --template exclude each other",
    });
  });

  const unknownVariable = "unknown environment variable CROFT_PROT; did you mean CROFT_PORT?";

  test("a command warns of an unknown variable and runs", async () => {
    const env = { CROFT_PROT: "1" };
    const ran = await runCli(["config", "get", "port"], { home: "/nowhere", env });
    expect(ran).toMatchObject({ code: 0, err: `warning: ${unknownVariable}\n` });
  });

  test("a command with machine output does not warn: standard error is for one line of error", async () => {
    const env = { CROFT_PROT: "1" };
    const ran = await runCli(["config", "get", "port", "--json"], { home: "/nowhere", env });
    expect(ran).toMatchObject({ code: 0, err: "" });
  });

  test("croft serve refuses an unknown variable", async () => {
    const env = { CROFT_PROT: "1" };
    const ran = await runCli(["serve", "--json"], { home: "/nowhere", env });
    expect(ran).toMatchObject({ code: 2, out: "" });
    expect(ran.error()).toMatchObject({ code: "invalid_config", message: unknownVariable });
  });

  test.each([
    [["repo", "lst"], "did you mean list?"],
    [["repo", "list", "--limt", "3"], "unknown flag --limt; did you mean --limit?"],
    [["repo", "list", "--format", "ymal"], "did you mean yaml?"],
    [["job", "list", "--state", "waitng"], 'waiting, running or dead, not "waitng"; did you mean'],
    [["issue", "list", "a/b", "--state", "closd"], 'not "closd"; did you mean closed?'],
    [["admin", "user", "edit", "a", "--visibility", "pubic"], 'not "pubic"; did you mean public?'],
    [["--verison"], "unknown flag --verison; did you mean --version?"],
    [["status"], 'did you mean "croft daemon status"'],
    [["user", "list"], 'did you mean "croft admin user list"'],
    [["org", "create", "--name", "x"], "unknown flag --name; <name> is given without a flag"],
  ])("%j suggests similar names", async (words, hint) => {
    const ran = await runCli(words, { home: "/nowhere" });
    expect(ran.code).toBe(2);
    expect(ran.err).toContain(hint);
  });
});

describe("a usage error", () => {
  test.each([
    [["vault", "share", "create"], "<document> and --to <handle> are missing"],
    [
      ["vault", "register"],
      "--handle <handle>, --email <address> and --password-stdin are missing",
    ],
    [["admin", "hook", "create", "--url", "x"], "--url is a flag of every command"],
    [
      ["issue", "view", "a/b", "1"],
      '"croft issue view" takes one argument, not "a/b" "1"\nwrite: croft issue view a/b#1',
    ],
    [["vault", "register", "--handle"], "--handle <handle> takes a value"],
    [
      ["init", "--username", "a b", "--email", "x"],
      '--password-stdin is missing, and prompting is not possible; --email: This is not an e-mail address; --username: "a b"',
    ],
    [
      ["init", "--username", "a b", "--password-stdin"],
      "--email is missing, and prompting is not possible; --password-stdin: the password must have",
    ],
    [
      ["vault", "register", "--handle", "1"],
      "--email <address> and --password-stdin are missing; --handle: A handle is",
    ],
    [
      ["admin", "hook", "list", "--active", "si", "--type", "sistem"],
      "unknown flag --active; --type takes system, default or all",
    ],
  ])("%j reports all mistakes and the usage", async (words, text) => {
    const ran = await runCli(words, { home: "/nowhere" });
    expect(ran.code).toBe(2);
    expect(ran.err).toContain(text);
  });
});

test("a template with a field that the output does not have is refused before anything is done", async () => {
  const ran = await runCli(["admin", "user", "list", "--template", "{{.login}} {{ .nope }}"], {
    home: "/nowhere",
  });
  expect(ran).toMatchObject({ code: 2, out: "" });
  expect(ran.error()).toMatchObject({ code: "unknown_field", message: 'unknown field "nope"' });
});

describe("croft ends", () => {
  test("quietly with 141 when the reader closes its output", async () => {
    const closed = new Writable({
      write(_chunk, _encoding, done) {
        done(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
      },
    });
    const system = fakeSystem({ home: "/nowhere", stdout: closed });
    const ran = toRan(await run(["version"], system), system);
    expect(ran).toMatchObject({ code: 141, err: "" });
  });

  test("croft ends with 130 on Ctrl-C during every kind of wait", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/v1/admin/users": () => new Promise(() => undefined),
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    const system = fakeSystem({ home: home.path });
    const running = run(["admin", "user", "list", "--json"], system);
    while (daemon.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    system.stops.send("SIGINT");
    const ran = toRan(await running, system);
    expect(ran.code).toBe(130);
    expect(ran.error()).toMatchObject({ code: "interrupted" });
  });

  test("croft ends with 143 on SIGTERM, also when the command does not listen", async () => {
    const stdin = openInput();
    const system = fakeSystem({ home: "/nowhere", stdin });
    const line = ["vault", "register", "--handle", "a", "--email", "b", "--password-stdin"];
    const running = run(line, system);
    await expect.poll(() => stdin.listenerCount("readable")).toBeGreaterThan(0);
    system.stops.send("SIGTERM");
    expect(await running).toBe(143);
    expect(system.written.err()).toBe("");
  });

  test("croft ends at once on the second signal", async () => {
    const stdin = openInput();
    const system = fakeSystem({ home: "/nowhere", stdin });
    const line = ["vault", "register", "--handle", "a", "--email", "b", "--password-stdin"];
    const running = run(line, system);
    await expect.poll(() => stdin.listenerCount("readable")).toBeGreaterThan(0);
    system.stops.send("SIGINT");
    system.stops.send("SIGINT");
    expect(system.exits).toEqual([130]);
    await running;
  });
});

test("the first help page names the next commands", async () => {
  for (const line of [[], ["--help"], ["help"]]) {
    const ran = await runCli(line, { home: "/nowhere" });
    expect(ran).toMatchObject({ code: 0, err: "" });
    expect(ran.out).toContain('"croft COMMAND --help" explains a command');
    expect(ran.out.replaceAll("\n", " ")).toContain('"croft help topics" lists further topics');
    expect(ran.out.split("\n").length).toBeLessThan(40);
  }
  const group = await runCli(["admin", "--help"], { home: "/nowhere" });
  expect(group.out).not.toContain("explains a command");
});

test("a missing object of the forge is named in plain words, with a list that can help", async () => {
  await using home = await temporaryHome();
  const missing = (message: string) => ({ status: 404, body: { message, url: "" } });
  await using daemon = await fakeDaemon({
    "DELETE /api/v1/admin/users/nope": missing("user redirect does not exist [name: nope]"),
    "GET /api/v1/repos/mira/notes/issues/9": missing("issue does not exist [id: 9, repo_id: 1]"),
    "POST /api/v1/repos/mira/none/issues": missing("The target couldn't be found."),
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const errorOf = async (line: string) =>
    (await runCli(`${line} --json`.split(" "), { home: home.path })).error();
  expect(await errorOf("admin user delete nope --yes")).toMatchObject({
    message: 'there is no user "nope"',
    hint: '"croft admin user list" shows what there is',
  });
  expect(await errorOf("issue view mira/notes#9")).toMatchObject({
    message: "there is no issue with the id 9",
    hint: '"croft issue list mira/notes" shows what there is',
  });
  expect(await errorOf("issue create mira/none --title x")).toMatchObject({
    hint: '"croft repo list" shows your repositories',
  });
});

test("a missing name suggests the list command", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "GET /api/v1/admin/hooks/9": { status: 404, body: { message: "not found", url: "" } },
    "GET /api/v1/admin/hooks": { status: 404, body: { message: "not found", url: "" } },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const view = await runCli(["admin", "hook", "view", "9", "--json"], { home: home.path });
  expect(view.error()).toMatchObject({
    code: "not_found",
    http_status: 404,
    message: "not found: 9",
    hint: '"croft admin hook list" shows what there is',
  });
  const list = await runCli(["admin", "hook", "list", "--json"], { home: home.path });
  expect(list.error()).toMatchObject({ code: "not_found", hint: null });
});
