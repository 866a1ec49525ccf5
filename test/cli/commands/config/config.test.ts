import { chmod, readdir, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { listSettings } from "../../../../daemon/settings/settings.ts";
import { skipUnless } from "../../../support/skip.ts";
import { optionsOf, refusalOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

test("the lines become options", async () => {
  expect(await optionsOf("config get", ["port"])).toEqual({ key: "port" });
  expect(await optionsOf("config set", ["port", "8000"])).toEqual({
    key: "port",
    value: "8000",
  });
  expect(await optionsOf("config unset", ["port"])).toEqual({ key: "port" });
  expect(await refusalOf("config set", ["port"])).toMatch(/^croft: /);
  expect(await refusalOf("config set", ["port", "1", "--stdin"])).toMatch(/^croft: /);
});

test("list shows every setting with its source, and no secret", async () => {
  await using home = await temporaryHome();
  await writeFile(join(home.path, "config.yaml"), "port: 8000\n");
  const env = { CROFT_HOST: "127.0.0.2", CROFT_SMTP_URL: "smtp://u:s3cret@mail" };
  const ran = await runCli(["config", "list", "--json"], { home: home.path, env });
  const values = ran.json() as { key: string }[];
  expect(values).toHaveLength(listSettings().length);
  const by = (key: string) => values.find((value) => value.key === key);
  expect(by("port")).toEqual({
    key: "port",
    value: 8000,
    source: "file",
    origin: join(home.path, "config.yaml"),
    secret: false,
  });
  expect(by("host")).toMatchObject({
    value: "127.0.0.2",
    source: "environment",
    origin: "CROFT_HOST",
  });
  expect(by("smtp_url")).toMatchObject({ value: "********", secret: true });
  expect(by("tls")).toMatchObject({ value: "off", source: "default", origin: null });
  expect(ran.out).not.toContain("s3cret");
});

test("all invalid settings are reported at once with exit code 2", async () => {
  await using home = await temporaryHome();
  await writeFile(join(home.path, "config.yaml"), "prot: 1\nport: no\n");
  const ran = await runCli(["config", "list", "--json"], { home: home.path });
  expect(ran.code).toBe(2);
  const { message } = ran.error() as { message: string };
  expect(message.split("\n")).toEqual([
    expect.stringContaining('unknown setting "prot"'),
    expect.stringContaining("port in"),
  ]);
});

test("a config file that was named must be there", async () => {
  await using home = await temporaryHome();
  const path = join(home.path, "missing.yaml");
  for (const [flags, env] of [
    [["--config", path], {}],
    [[], { CROFT_CONFIG: path }],
  ] as const) {
    const ran = await runCli(["config", "list", "--json", ...flags], { home: home.path, env });
    expect(ran.code).toBe(2);
    expect(ran.error()).toMatchObject({
      code: "invalid_config",
      message: `there is no config file ${path}`,
    });
  }
  const made = ["config", "set", "port", "8000", "--config", path];
  expect((await runCli(made, { home: home.path })).code).toBe(0);
  expect(await readFile(path, "utf8")).toBe("port: 8000\n");
});

test("invalid YAML is reported on one line with its position", async () => {
  await using home = await temporaryHome();
  const path = join(home.path, "config.yaml");
  await writeFile(path, "host: 127.0.0.1\nport: [\n");
  for (const words of [["list"], ["set", "port", "8000"]]) {
    const ran = await runCli(["config", ...words, "--json"], { home: home.path });
    const { message } = ran.error() as { message: string };
    expect(message).toMatch(/config\.yaml is not valid YAML: .* at line \d+, column \d+$/);
  }
  const where = await runCli(["config", "path", "--json"], { home: home.path });
  expect(where.json()).toMatchObject({ config_file: path });
});

describe("config set", () => {
  const file = (home: string) => join(home, "config.yaml");

  test("changes one line and leaves comments and the rest", async () => {
    await using home = await temporaryHome();
    const before = "# my daemon\nport: 7000 # before\nallowed_hosts:\n  - a\n  - b\n";
    await writeFile(file(home.path), before);
    const ran = await runCli(["config", "set", "port", "8000", "--json"], { home: home.path });
    expect(ran.json()).toEqual({ key: "port", value: 8000, path: file(home.path) });
    expect(await readFile(file(home.path), "utf8")).toBe(before.replace("7000", "8000"));
    await runCli(["config", "set", "allowed_hosts", "c,d"], { home: home.path });
    expect(await readFile(file(home.path), "utf8")).toContain("allowed_hosts:\n  - c\n  - d\n");
  });

  test("takes a line out", async () => {
    await using home = await temporaryHome();
    await writeFile(file(home.path), "port: 8000\nhost: 127.0.0.2\n");
    await runCli(["config", "unset", "port"], { home: home.path });
    expect(await readFile(file(home.path), "utf8")).toBe("host: 127.0.0.2\n");
  });

  test("unset refuses a key that is no setting, names the nearest one, and removes one that the file has", async () => {
    await using home = await temporaryHome();
    await writeFile(file(home.path), "hots: 127.0.0.2\nport: 8000\n");
    const unset = (key: string) => runCli(["config", "unset", key], { home: home.path });
    const refused = await unset("prot");
    expect([refused.code === 0, refused.err]).toEqual([
      false,
      expect.stringMatching(/there is no setting "prot".*port/),
    ]);
    expect((await unset("hots")).code).toBe(0);
    expect((await unset("hots")).code).not.toBe(0);
    expect((await unset("host")).code).toBe(0);
    expect(await readFile(file(home.path), "utf8")).toBe("port: 8000\n");
  });

  test("reads a secret from standard input, prints stars, and keeps the file to its owner", async () => {
    await using home = await temporaryHome();
    const ran = await runCli(["config", "set", "smtp_url", "--stdin", "--json"], {
      home: home.path,
      stdin: "smtp://u:s3cret@mail\n",
    });
    expect(ran.json()).toMatchObject({ value: "********" });
    expect(await readFile(file(home.path), "utf8")).toBe("smtp_url: smtp://u:s3cret@mail\n");
    expect((await stat(file(home.path))).mode & 0o777).toBe(0o600);
  });

  test.each([
    [["port", "many"], 'port takes a whole number from 0 to 65535, not "many"'],
    [["prot", "1"], 'unknown setting "prot"; did you mean port?'],
    [["home", "/x"], "home cannot be in the config file"],
  ])("refuses %j and writes nothing", async (words, message) => {
    await using home = await temporaryHome();
    const ran = await runCli(["config", "set", ...words, "--json"], { home: home.path });
    expect(ran.error()).toMatchObject({ code: "invalid_config", exit_code: 2 });
    expect(ran.error()["message"]).toContain(message);
    expect(ran.error()["hint"]).toContain("nothing was changed");
    await expect(readFile(file(home.path))).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("config set is not misled by a variable that hides the file's value", async () => {
    await using home = await temporaryHome();
    const env = { CROFT_PORT: "7001" };
    const ran = await runCli(["config", "set", "port", "many", "--json"], { home: home.path, env });
    expect(ran.error()).toMatchObject({ code: "invalid_config" });
    const good = await runCli(["config", "set", "port", "8000", "--json"], {
      home: home.path,
      env,
    });
    expect(good.json()).toMatchObject({ value: 8000 });
  });

  test("writes nothing with --dry-run", async () => {
    await using home = await temporaryHome();
    const ran = await runCli(["config", "set", "port", "8000", "--dry-run", "--json"], {
      home: home.path,
    });
    expect(ran.json()).toEqual({
      dry_run: true,
      set: { key: "port", value: 8000, path: file(home.path) },
    });
    await expect(readFile(file(home.path))).rejects.toMatchObject({ code: "ENOENT" });
  });

  skipUnless(process.getuid?.() !== 0, "the superuser may write everywhere")(
    "in a folder that cannot be written exits 17",
    async () => {
      await using home = await temporaryHome();
      await chmod(home.path, 0o500);
      const ran = await runCli(["config", "set", "port", "8000", "--json"], { home: home.path });
      await chmod(home.path, 0o700);
      expect(ran.error()).toMatchObject({ code: "file_error", exit_code: 17 });
    },
  );
});

test("config path shows all folders", async () => {
  const env = { CROFT_HOME: undefined, XDG_CONFIG_HOME: "/c", XDG_DATA_HOME: "/d" };
  const ran = await runCli(["config", "path", "--json"], { home: "/home/mira", env });
  expect(ran.json()).toEqual({
    home: null,
    config_file: "/c/croft/config.yaml",
    config: "/c/croft",
    data: "/d/croft",
    state: "/home/mira/.local/state/croft",
    cache: "/home/mira/.cache/croft",
  });
});

test("config set of a list of paths in YAML takes what the variable takes, and keeps quotes where a reader needs them", async () => {
  await using home = await temporaryHome();
  const path = join(home.path, "config.yaml");
  await writeFile(path, "local_roots: # where files are\n  - one\nallowed_hosts:\n  - a.example\n");
  const set = (key: string, value: string) =>
    runCli(["config", "set", key, value, "--json"], { home: home.path });
  expect((await set("local_roots", "/srv/a,b:/srv/c")).json()).toMatchObject({
    value: ["/srv/a,b", "/srv/c"],
  });
  expect(await readFile(path, "utf8")).toContain("  - /srv/a,b\n  - /srv/c\n");
  expect((await set("allowed_hosts", "none")).json()).toMatchObject({ value: [] });
  expect((await set("log_level", "constructor")).code).toBe(2);
  expect((await set("ocr", "constructor")).error()).toMatchObject({ code: "invalid_config" });
  expect((await set("tls", "off")).code).toBe(0);
  expect(await readFile(path, "utf8")).toContain('tls: "off"\n');
});

test("changes of the config file and of profiles that are made at once are all kept", async () => {
  await using home = await temporaryHome();
  const run = (...line: string[]) => runCli(line, { home: home.path });
  const lines = [
    ["config", "set", "port", "8001"],
    ["config", "set", "log_level", "warn"],
    ["config", "set", "activity_days", "3"],
    ["config", "set", "ocr", "true"],
    ["config", "unset", "host"],
  ];
  await writeFile(join(home.path, "config.yaml"), "host: localhost\n");
  const set = await Promise.all(lines.map((line) => run(...line)));
  expect(set.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
  const text = await readFile(join(home.path, "config.yaml"), "utf8");
  expect(text.trim().split("\n").toSorted()).toEqual(
    ["activity_days: 3", "log_level: warn", "ocr: true", "port: 8001"].toSorted(),
  );
  const names = ["a", "b", "c", "d", "d"];
  const added = await Promise.all(names.map((name) => run("profile", "add", name)));
  expect(added.map(({ code }) => code).toSorted()).toEqual([0, 0, 0, 0, 7]);
  const listed = (await run("profile", "list", "--json")).json() as { name: string }[];
  expect(listed.map(({ name }) => name).toSorted()).toEqual(["a", "b", "c", "d", "default"]);
  expect((await readdir(home.path)).filter((name) => name.includes(".lock"))).toEqual([]);
});

test("config set keeps a link to the config file", async () => {
  await using home = await temporaryHome();
  const real = join(home.path, "dotfiles.yaml");
  await writeFile(real, "port: 8000 # mine\n");
  await symlink("dotfiles.yaml", join(home.path, "config.yaml"));
  const ran = await runCli(["config", "set", "port", "8001"], { home: home.path });
  expect(ran.code, ran.err).toBe(0);
  expect(await readlink(join(home.path, "config.yaml"))).toBe("dotfiles.yaml");
  expect(await readFile(real, "utf8")).toBe("port: 8001 # mine\n");
  await rm(real);
  expect((await runCli(["config", "set", "port", "8002"], { home: home.path })).code).toBe(0);
  expect(await readFile(real, "utf8")).toBe("port: 8002\n");
});
