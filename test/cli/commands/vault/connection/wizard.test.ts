import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { run } from "../../../../../cli/main.ts";
import { type FakeAnswer, fakeDaemon, type RecordedRequest } from "../../../support/fake-daemon.ts";
import { optionsOf, refusalOf } from "../../../support/parse-line.ts";
import { fakeSystem, openInput, runCli, temporaryHome } from "../../../support/run-cli.ts";
import { signIn } from "../../../support/signed-in.ts";
import { keys } from "../../../support/terminal.ts";

const setting = (name: string, more: object = {}) => ({
  name,
  type: "text",
  required: true,
  secret: false,
  help: "",
  choices: null,
  default: null,
  ...more,
});
const provider = (type: string, title: string, more: object = {}) => ({
  type,
  title,
  sign_in: "settings",
  available: true,
  missing_settings: [],
  settings: [],
  ...more,
});
const providers = {
  items: [
    provider("local_folder", "Folder", { settings: [setting("root", { type: "path" })] }),
    provider("webdav", "WebDAV", {
      settings: [
        setting("url", { type: "url", help: "The folder's address" }),
        setting("password", { secret: true }),
        setting("depth", { required: false, choices: ["flat", "deep"], default: "deep" }),
        setting("trash", { required: false, type: "switch" }),
        setting("prefix", { required: false }),
      ],
    }),
    provider("onedrive", "OneDrive", {
      available: false,
      missing_settings: ["CROFT_ONEDRIVE_CLIENT_ID"],
    }),
    provider("dropbox", "Dropbox", { sign_in: "oauth" }),
  ],
};
const connection = (id: string, type: string, more: object = {}) => ({
  id,
  provider: type,
  display_name: id,
  status: "connected",
  created_at: "2026-11-21T12:00:00.000Z",
  last_checked_at: "2026-11-21T12:00:00.000Z",
  quota: null,
  ...more,
});
const pageOf = (...items: object[]): FakeAnswer => ({
  body: { items, total: items.length, page: 1, per_page: 100 },
});
const address = "https://www.dropbox.com/oauth2/authorize?client_id=x";
const authorizing: FakeAnswer = {
  body: { authorization_url: address, expires_at: new Date(Date.now() + 600_000).toISOString() },
};

/** Runs a line on a terminal and answers each question when it is shown. */
async function ask(
  line: readonly string[],
  answers: Parameters<typeof fakeDaemon>[0],
  typed: readonly (readonly [question: string, keys: string])[],
) {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "GET /api/cloud/providers": { body: providers },
    ...answers,
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const stdin = openInput();
  const workingDirectory = "/somewhere";
  const system = fakeSystem({
    home: home.path,
    stdin,
    terminal: true,
    workingDirectory,
    hurried: true,
    env: { NO_COLOR: "1" },
  });
  let ended: number | undefined;
  const running = run(["vault", "connection", ...line], system).then((code) => (ended = code));
  let readUntil = 0;
  const deadline = Date.now() + 45_000;
  const screen = () => stripVTControlCharacters(system.written.err());
  for (const [question, text] of typed) {
    while (!screen().slice(readUntil).includes(question)) {
      if (ended !== undefined || Date.now() > deadline)
        throw new Error(`${question} did not come: ${screen()}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    readUntil = screen().length;
    stdin.write(text);
  }
  const code = await running;
  const sent = daemon.requests.filter(({ method }) => method !== "GET");
  return {
    code,
    out: system.written.out(),
    err: screen(),
    opened: system.opened,
    sent: sent.map((request) => request.json()),
    paths: daemon.requests.map(({ path }) => path),
  };
}

describe("connection add without provider or name", () => {
  test("asks for provider, name and every setting, with secrets hidden", async () => {
    const { code, sent, err } = await ask(
      ["add"],
      { "POST /api/cloud/connections": { status: 201, body: connection("c1", "webdav") } },
      [
        ["What do you want to connect?", keys.down],
        ["❯ WebDAV", "\r"],
        ["Name: (WebDAV)", "nas\r"],
        ["url:", "http://nas/dav\r"],
        ["depth (may be empty):", "\r"],
        ["❯ (not set)", keys.down],
        ["❯ yes", keys.down],
        ["❯ no", "\r"],
        ["prefix (may be empty):", "\r"],
        ["password:", "s3cret\r"],
      ],
    );
    expect(code).toBe(0);
    expect(sent).toEqual([
      {
        provider: "webdav",
        display_name: "nas",
        settings: { url: "http://nas/dav", depth: "deep", trash: "false" },
        credentials: { password: "s3cret" },
      },
    ]);
    expect(err).toContain("The folder's address");
    expect(err).toContain("OneDrive (not set up on this server)");
    expect(err).not.toContain("s3cret");
  });

  test("prompts again for the setting that the server refuses", async () => {
    const refuse = (name: string, detail: string): FakeAnswer => ({
      status: 422,
      body: { kind: "invalid_setting", reason: "outside", setting: name, detail },
    });
    const { code, sent, err } = await ask(
      ["add", "webdav"],
      {
        "POST /api/cloud/connections": [
          refuse("url", "Nothing answers there."),
          {
            status: 401,
            body: {
              kind: "reauth_required",
              reason: "refused",
              setting: "password",
              detail: "Wrong.",
            },
          },
          { status: 201, body: connection("c1", "webdav") },
        ],
      },
      [
        ["Name: (WebDAV)", "\r"],
        ["url:", "http://nax\r"],
        ["depth", "\r"],
        ["trash", "\r"],
        ["prefix", "\r"],
        ["password:", "one\r"],
        ["url: Nothing answers there.\nThe folder's address\n? url:", "http://nas\r"],
        ["password: Wrong.\n? password:", "two\r"],
      ],
    );
    expect(code).toBe(0);
    expect(sent.at(-1)).toMatchObject({
      display_name: "WebDAV",
      settings: { url: "http://nas", depth: "deep" },
      credentials: { password: "two" },
    });
    expect(err).toContain("Checking WebDAV…");
  });

  test("ends with an error that no other answer can correct", async () => {
    const { code, err } = await ask(
      ["add", "local_folder"],
      { "POST /api/cloud/connections": { status: 403, body: { detail: "Not for you" } } },
      [
        ["Name:", "\r"],
        ["root:", "files\r"],
      ],
    );
    expect(code).toBe(5);
    expect(err).toContain("Not for you");
  });

  test("a connection without provider and name is missing_input without a terminal", async () => {
    await using home = await temporaryHome();
    const ran = await runCli(["vault", "connection", "add", "--json"], { home: home.path });
    expect(ran.error()).toMatchObject({
      code: "missing_input",
      message: "PROVIDER and --name NAME are missing, and prompting is not possible",
    });
  });
});

describe("a provider that is signed in to in a browser", () => {
  const before = connection("c1", "dropbox", { status: "reauth_required" });

  test("a provider that is signed in to in a browser is connected when the person has done it", async () => {
    const { code, out, err, opened, paths } = await ask(
      ["add", "dropbox", "--name", "box"],
      {
        "GET /api/cloud/connections": [
          pageOf(before),
          pageOf(before),
          pageOf(before, connection("c2", "dropbox")),
        ],
        "GET /api/cloud/authorize/dropbox": authorizing,
      },
      [],
    );
    expect(code).toBe(0);
    expect(out).toContain("c2");
    expect(err).toContain(address);
    expect(opened).toEqual([address]);
    expect(paths).toContain("/api/cloud/authorize/dropbox?display_name=box");
  });

  test("waiting for the sign-in at the vendor ends with a time-out", async () => {
    const late = {
      ...authorizing,
      body: { authorization_url: address, expires_at: "2026-11-21T12:00:00Z" },
    };
    const { code, err } = await ask(
      ["add", "dropbox", "--name", "box"],
      {
        "GET /api/cloud/connections": pageOf(before),
        "GET /api/cloud/authorize/dropbox": late,
      },
      [],
    );
    expect(code).toBe(8);
    expect(err).toContain("the sign-in was not completed in time");
  });

  test("the sign-in at a vendor needs a terminal, and a script gets a hint how to get the address", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/cloud/providers": { body: providers },
      "GET /api/cloud/connections": pageOf(before),
      "GET /api/cloud/authorize/dropbox": authorizing,
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const go = (...words: string[]) =>
      runCli(["vault", "connection", ...words, "--json"], { home: home.path });
    const refused = await go("add", "dropbox", "--name", "box");
    expect(refused.code).toBe(16);
    expect(refused.error()["hint"]).toContain("croft vault connection authorize dropbox");
    const printed = await go("authorize", "dropbox", "--connection", "c1");
    expect(printed.json()).toEqual(authorizing.body);
    expect(daemon.requests.at(-1)?.path).toBe("/api/cloud/authorize/dropbox?connection_id=c1");
    const planned = await go("add", "dropbox", "--name", "box", "--dry-run");
    expect(planned.json()).toEqual({
      dry_run: true,
      authorize: { provider: "dropbox", display_name: "box" },
    });
  });
});

describe("connection authorize", () => {
  test("the line becomes options", async () => {
    expect(await optionsOf("vault connection authorize", ["dropbox", "--name", "box"])).toEqual({
      provider: "dropbox",
      name: "box",
    });
    expect(
      await refusalOf("vault connection authorize", [
        "dropbox",
        "--name",
        "box",
        "--connection",
        "c1",
      ]),
    ).toContain("exclude each other");
  });
});

describe("connection reconnect", () => {
  test("the line becomes options", async () => {
    expect(
      await optionsOf("vault connection reconnect", ["nas", "--credential-stdin", "password"]),
    ).toEqual({ connection: "nas", credentialStdin: "password" });
  });

  test("signs in at the provider again", async () => {
    const before = connection("c1", "dropbox", { status: "reauth_required" });
    const after = connection("c1", "dropbox", { last_checked_at: "2026-11-21T13:00:00.000Z" });
    const { code, paths } = await ask(
      ["reconnect", "c1"],
      {
        "GET /api/cloud/connections": [
          pageOf(before),
          pageOf(before),
          pageOf(before),
          pageOf(after),
        ],
        "GET /api/cloud/authorize/dropbox": authorizing,
      },
      [],
    );
    expect(code).toBe(0);
    expect(paths).toContain("/api/cloud/authorize/dropbox?connection_id=c1");
  });

  test("asks for the secrets of other providers, or reads one", async () => {
    const answers = {
      "GET /api/cloud/connections": pageOf(
        connection("c1", "webdav"),
        connection("c2", "local_folder"),
      ),
      "PATCH /api/cloud/connections/c1": (_: RecordedRequest): FakeAnswer => ({
        body: connection("c1", "webdav"),
      }),
    };
    const asked = await ask(["reconnect", "c1"], answers, [["password:", "n3w\r"]]);
    expect(asked.sent).toEqual([{ credentials: { password: "n3w" } }]);
    const none = await ask(["reconnect", "c2"], answers, []);
    expect(none).toMatchObject({ code: 2, err: expect.stringContaining("needs no credentials") });
  });
});
