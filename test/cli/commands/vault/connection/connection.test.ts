import { describe, expect, test } from "vitest";
import { fakeDaemon } from "../../../support/fake-daemon.ts";
import { optionsOf } from "../../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../../support/run-cli.ts";
import { signIn } from "../../../support/signed-in.ts";

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
const providers = {
  items: [
    {
      type: "local_folder",
      title: "Folder",
      sign_in: "settings",
      available: true,
      missing_settings: [],
      settings: [setting("root", { type: "path" })],
    },
    {
      type: "webdav",
      title: "WebDAV",
      sign_in: "settings",
      available: true,
      missing_settings: [],
      settings: [
        setting("url", { type: "url" }),
        setting("username"),
        setting("password", { secret: true }),
      ],
    },
    {
      type: "s3",
      title: "S3-compatible storage",
      sign_in: "settings",
      available: true,
      missing_settings: [],
      settings: [
        setting("access_key_id", { secret: true }),
        setting("secret_access_key", { secret: true }),
        setting("session_token", { secret: true, required: false }),
      ],
    },
    {
      type: "dropbox",
      title: "Dropbox",
      sign_in: "oauth",
      available: false,
      missing_settings: ["CROFT_DROPBOX_CLIENT_ID"],
      settings: [],
    },
  ],
};
const connection = {
  id: "c1",
  provider: "local_folder",
  display_name: "home",
  status: "connected",
  created_at: "2026-11-21T12:00:00.000Z",
  last_checked_at: null,
  quota: null,
};

async function add(words: readonly string[], stdin = "") {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "GET /api/cloud/providers": { body: providers },
    "POST /api/cloud/connections": { status: 201, body: connection },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const line = ["vault", "connection", "add", ...words, "--json"];
  const ran = await runCli(line, { home: home.path, stdin, workingDirectory: "/somewhere" });
  const sent = daemon.requests.find(({ method }) => method === "POST");
  return { ran, home: home.path, sent: sent?.json() };
}

describe("connection add", () => {
  test("the line becomes options", async () => {
    const line = [
      "webdav",
      "--name",
      "nas",
      "--setting",
      "url=http://x?a=b",
      "--setting",
      "username=u",
      "--credential-stdin",
      "password",
    ];
    expect(await optionsOf("vault connection add", line)).toEqual({
      provider: "webdav",
      name: "nas",
      setting: { url: "http://x?a=b", username: "u" },
      credentialStdin: "password",
    });
  });

  test("sends settings and prints the connection", async () => {
    const line = ["local_folder", "--name", "home", "--setting", "root=my files"];
    const { ran, sent } = await add(line);
    expect(ran.json()).toEqual(connection);
    expect(sent).toEqual({
      provider: "local_folder",
      display_name: "home",
      settings: { root: "my files" },
      credentials: {},
    });
  });

  test.each([
    ["a name is left to the daemon", "papers/of mine", "papers/of mine"],
    ["an absolute path stays", "/srv/papers", "/srv/papers"],
    ["a dot alone is the account's own folder", ".", "."],
    ["a dot before a slash is the working directory", "./papers", "/somewhere/papers"],
    ["two dots are the folder above it", "../papers", "/papers"],
    ["a tilde is the home directory", "~/papers", "HOME/papers"],
    ["a name that begins with a tilde is a name", "~papers", "~papers"],
  ])("recognizes paths of this machine: %s", async (_, root, expected) => {
    const line = ["local_folder", "--name", "home", "--setting", `root=${root}`];
    const { sent, home } = await add(line);
    expect(sent).toMatchObject({ settings: { root: expected.replace("HOME", home) } });
  });

  test("reads a secret from standard input", async () => {
    const line = [
      "webdav",
      "--name",
      "nas",
      "--setting",
      "url=http://x",
      "--setting",
      "username=u",
    ];
    const { sent } = await add([...line, "--credential-stdin", "password"], "s3cret\n");
    expect(sent).toMatchObject({
      settings: { url: "http://x", username: "u" },
      credentials: { password: "s3cret" },
    });
  });

  test("reads several secrets from standard input, a line each in the order of their names", async () => {
    const line = ["s3", "--name", "b", "--credential-stdin", "secret_access_key,access_key_id"];
    const { sent } = await add(line, "s3cret\r\nAKIA\r\n");
    expect(sent).toMatchObject({
      credentials: { access_key_id: "AKIA", secret_access_key: "s3cret" },
    });
    for (const input of ["s3cret", "s3cret\n\n", "s3cret\nAKIA\nmore", ""]) {
      const { ran, sent: nothing } = await add(line, input);
      expect([ran.code, nothing]).toEqual([2, undefined]);
      expect(ran.err).toContain("standard input must be 2 lines");
      expect(ran.err).not.toContain("s3cret");
    }
  });

  test.each([
    [
      "an unknown provider",
      ["webdv", "--name", "x"],
      "usage",
      'there is no provider "webdv"; did you mean webdav?',
    ],
    [
      "an unknown setting",
      ["local_folder", "--name", "x", "--setting", "rot=x"],
      "usage",
      'local_folder has no setting "rot"; did you mean root?',
    ],
    [
      "a secret on the line",
      ["webdav", "--name", "x", "--setting", "password=x"],
      "usage",
      "password is a secret",
    ],
    [
      "a missing setting",
      ["local_folder", "--name", "x"],
      "missing_input",
      "--setting root=VALUE is missing, and prompting is not possible",
    ],
    [
      "everything that is missing at once",
      ["webdav"],
      "missing_input",
      "--name NAME, --setting url=VALUE, --setting username=VALUE and --credential-stdin password are missing, and prompting is not possible",
    ],
    [
      "a provider that the server has not",
      ["dropbox", "--name", "x"],
      "unsupported",
      "this server is not set up for Dropbox",
    ],
    [
      "a setting without a value",
      ["webdav", "--name", "x", "--setting", "url"],
      "usage",
      '--setting takes KEY=VALUE, not "url"',
    ],
  ])("refuses %s before anything is connected", async (_what, words, code, message) => {
    const { ran, sent } = await add(words);
    expect(ran.error()).toMatchObject({ code, message });
    expect(sent).toBeUndefined();
  });
});

test("connection list prints the items of the page", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "GET /api/cloud/connections": {
      body: { items: [connection], total: 1, page: 1, per_page: 30 },
    },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const ran = await runCli(["vault", "connection", "list", "--json", "--limit", "30"], {
    home: home.path,
  });
  expect(ran.json()).toEqual([connection]);
  expect(daemon.requests[0]?.path).toBe("/api/cloud/connections?page=1&per_page=30");
});

test("a connection that could not be made is not advised to be reconnected", async () => {
  await using home = await temporaryHome();
  const status = 503;
  await using daemon = await fakeDaemon({
    "GET /api/cloud/providers": { body: providers },
    "POST /api/cloud/connections": { status, body: { detail: "Reconnect this storage" } },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const words = ["local_folder", "--name", "Papers", "--setting", "root=/srv"];
  const ran = await runCli(["vault", "connection", "add", ...words, "--json"], { home: home.path });
  expect(ran.err).toContain("reauth_required");
  expect(ran.err).not.toContain("connection reconnect");
});
