import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type CommonFlags, noFlags } from "../../../cli/flags.ts";
import { readClientConfig } from "../../../cli/profile/config.ts";
import { makePrivateFolder } from "../../../cli/profile/private-files.ts";
import { skipUnless } from "../../support/skip.ts";
import { fakeSystem, runCli, temporaryHome } from "../support/run-cli.ts";

const cases: readonly (readonly [
  string,
  Record<string, string | undefined>,
  Partial<CommonFlags>,
])[] = [
  ["nothing given", {}, {}],
  ["an address in the environment", { CROFT_URL: "http://croft.example:8080/" }, {}],
  ["an address as a flag", { CROFT_URL: "http://croft.example" }, { url: "https://other.example" }],
  ["a profile", { CROFT_PROFILE: "work" }, {}],
  ["a profile as a flag", { CROFT_PROFILE: "work" }, { profile: "home" }],
  ["tokens", { CROFT_FORGE_TOKEN: "a", CROFT_VAULT_TOKEN: "b", CROFT_TOKEN_COMMAND: "c d" }, {}],
  [
    "empty variables",
    { CROFT_FORGE_TOKEN: "", CROFT_URL: "", CROFT_PROFILE: "", CROFT_NO_INPUT: "" },
    {},
  ],
  ["a store", { CROFT_CREDENTIAL_STORE: "keyring" }, {}],
  ["a store as a flag", {}, { credentialStore: "auto" }],
  ["no input", { CROFT_NO_INPUT: "1" }, {}],
  ["no home folder", { CROFT_HOME: undefined }, {}],
  ["a home relative to the folder", { CROFT_HOME: "here" }, {}],
  ["a home as a flag", {}, { home: "~/elsewhere" }],
];

describe("without a config file the settings are read without their declarations, to the same end:", () => {
  test.each(cases)(
    "settings without a config file are read to the same end: %s",
    async (_what, env, flags) => {
      await using home = await temporaryHome();
      const all = { ...noFlags, ...flags };
      const light = await readClientConfig(fakeSystem({ home: home.path, env }), all);
      // Any other variable, here one that changes nothing, makes it read everything.
      const full = await readClientConfig(
        fakeSystem({ home: home.path, env: { ...env, CROFT_LOG_LEVEL: "info" } }),
        all,
      );
      expect(light).toEqual(full);
    },
  );

  test.each<[string, Record<string, string>, Partial<CommonFlags>]>([
    ["CROFT_URL takes an address", { CROFT_URL: "ftp://x" }, {}],
    ["CROFT_URL takes an address", { CROFT_URL: "http://user:pass@x" }, {}],
    ["--url takes an address", {}, { url: "nonsense" }],
    ["--home takes a path", {}, { home: "" }],
    ["CROFT_CREDENTIAL_STORE takes one of", { CROFT_CREDENTIAL_STORE: "cloud" }, {}],
    ["CROFT_NO_INPUT takes true or false", { CROFT_NO_INPUT: "maybe" }, {}],
    ["CROFT_PROFILE takes a text on one line", { CROFT_PROFILE: "a\nb" }, {}],
  ])(
    "an invalid setting is reported in the same words by flag and variable: %s",
    async (words, env, flags) => {
      await using home = await temporaryHome();
      const reading = readClientConfig(fakeSystem({ home: home.path, env }), {
        ...noFlags,
        ...flags,
      });
      await expect(reading).rejects.toMatchObject({
        code: "invalid_config",
        message: expect.stringContaining(words) as string,
      });
    },
  );
});

test("a config file provides the settings that flags and environment lack", async () => {
  await using home = await temporaryHome();
  await writeFile(
    join(home.path, "config.yaml"),
    "url: http://from-file\nprofile: filed\nport: 9000\nhost: 0.0.0.0\n",
  );
  const config = await readClientConfig(fakeSystem({ home: home.path }), {
    ...noFlags,
    profile: "flagged",
  });
  expect(config).toMatchObject({
    url: "http://from-file",
    urlSource: "file",
    profile: "flagged",
    defaultUrl: "http://127.0.0.1:9000",
  });
});

test("a secret in a file named by a _FILE variable is read", async () => {
  await using home = await temporaryHome();
  const path = join(home.path, "token");
  await writeFile(path, "from-file\n");
  const env = { CROFT_FORGE_TOKEN_FILE: path };
  const config = await readClientConfig(fakeSystem({ home: home.path, env }), noFlags);
  expect(config.forgeToken).toBe("from-file");
});

describe("a config file is refused", () => {
  const messageOf = async (text: string) => {
    await using home = await temporaryHome();
    await writeFile(join(home.path, "config.yaml"), text);
    const ran = await runCli(["config", "list", "--json"], { home: home.path });
    return ran.error()["message"];
  };

  test("when it is far too large to be one", async () => {
    expect(await messageOf(`# ${"x".repeat(1024 * 1024)}`)).toContain("is too large");
  });

  test("when it holds two documents, without advice for programmers", async () => {
    const message = await messageOf("port: 1\n---\nport: 2\n");
    expect(message).toContain("it holds more than one document");
  });

  test("when a secret in it begins like an alias, which is not repeated", async () => {
    const message = await messageOf("objects_secret_access_key: *hunter2\n");
    expect(message).toContain("Unresolved alias");
    expect(message).not.toContain("hunter2");
  });
});

// Node's recursive mkdir never returns there.
skipUnless(process.platform === "linux", "only Linux has /proc").test(
  "a folder that cannot hold another one ends the making of folders",
  async () => {
    await expect(makePrivateFolder("/proc/croft-test/a/b")).rejects.toMatchObject({
      code: "ENOENT",
    });
  },
);

test.each(["config.yaml", "profiles.json", "daemon.json"])(
  "a folder in the place of %s is named",
  async (name) => {
    await using home = await temporaryHome();
    await mkdir(join(home.path, name));
    const ran = await runCli(["daemon", "status", "--json"], { home: home.path });
    expect(ran.error()).toMatchObject({
      code: "file_error",
      message: `${join(home.path, name)} is a folder where croft keeps a file`,
    });
  },
);
