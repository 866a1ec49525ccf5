import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { PASSWORD_LENGTH_MIN } from "../../../../daemon/contract/forge/rules.ts";
import {
  resolvePaths,
  resolveSettings,
  SettingsError,
  type SettingsInput,
} from "../../../../daemon/settings/resolve.ts";
import { listSettings, toKey, toVariable } from "../../../../daemon/settings/settings.ts";
import { toSettingsReference } from "../../../../daemon/settings/reference.ts";

function input(changes: Partial<SettingsInput> = {}): SettingsInput {
  return {
    flags: {},
    env: {},
    fileText: undefined,
    filePath: "/home/mira/.config/croft/config.yaml",
    platform: "linux",
    homeDirectory: "/home/mira",
    workingDirectory: "/srv",
    readFile: (path) => {
      throw new Error(`no such file ${path}`);
    },
    parseFile: (text) => parse(text) as unknown,
    ...changes,
  };
}

function problemsOf(changes: Partial<SettingsInput>): string[] {
  try {
    resolveSettings(input(changes));
  } catch (error) {
    if (error instanceof SettingsError) {
      return error.problems.map((problem) => problem.message);
    }
    throw error;
  }
  return [];
}

describe("declarations", () => {
  test("names follow from the name in code and are unique", () => {
    const keys = listSettings().map(([name]) => toKey(name));
    expect(new Set(keys).size).toBe(keys.length);
    expect(toKey("publicUrl")).toBe("public_url");
    expect(toVariable("maxUploadBytes")).toBe("CROFT_MAX_UPLOAD_BYTES");
  });

  test("no secret has a flag, for a process list shows flags", () => {
    expect(listSettings().filter(([, declared]) => declared.secret && declared.flag)).toEqual([]);
  });

  test("every name that the contract fixes is declared, with its default", () => {
    const { values } = resolveSettings(input());
    const defaults = Object.fromEntries(values.map((value) => [value.key, value.value]));
    expect(defaults).toMatchObject({
      host: "127.0.0.1",
      port: 7420,
      tls: "off",
      public_url: null,
      max_upload_bytes: 5_368_709_120,
      access_token_seconds: 900,
      allow_registration: true,
      address_policy: "home",
      log_level: "info",
      repositories_dir: "/home/mira/.local/share/croft/repositories",
      local_roots: ["/home/mira/.local/share/croft/files"],
      trusted_proxies: ["127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128"],
      google_client_id: null,
      onedrive_tenant_id: null,
      dropbox_base_url: null,
    });
  });

  test("every default is a value that the setting itself takes", () => {
    const { settings } = resolveSettings(input());
    const context = { resolvePath: (path: string) => path, pathSeparator: ":" };
    const wrong = listSettings().filter(([name, declared]) => {
      const value = settings[name];
      const given = declared.type.show ? declared.type.show(value) : value;
      return value !== undefined && !isDeepStrictEqual(declared.type.read(given, context), value);
    });
    expect(wrong.map(([name]) => name)).toEqual([]);
  });

  test("the reference page is the declaration's own text", async () => {
    await expect(toSettingsReference()).toMatchFileSnapshot("../../../../docs/settings.md");
  });
});

describe("precedence", () => {
  const all = {
    flags: { port: "1" },
    env: { CROFT_PORT: "2" },
    fileText: "port: 3\n",
  };
  test.each([
    [all, 1, "flag", "--port"],
    [{ ...all, flags: { port: undefined } }, 2, "environment", "CROFT_PORT"],
    [{ ...all, flags: {}, env: {} }, 3, "file", "/home/mira/.config/croft/config.yaml"],
    [
      { ...all, flags: {}, env: { CROFT_PORT: "" } },
      3,
      "file",
      "/home/mira/.config/croft/config.yaml",
    ],
    [{}, 7420, "default", null],
  ])(
    "a flag wins over a variable, a file and the default: case %#",
    (changes, value, source, origin) => {
      const resolved = resolveSettings(input(changes));
      expect(resolved.settings.port).toBe(value);
      const port = resolved.values.find((entry) => entry.key === "port");
      expect(port).toEqual({ key: "port", value, source, origin, secret: false });
    },
  );

  test("a _FILE twin gives the text of its file without the last line end", () => {
    const { settings, values } = resolveSettings(
      input({
        env: { CROFT_SMTP_URL_FILE: "secrets/smtp" },
        readFile: (path) => (path === "/srv/secrets/smtp" ? "smtp://u:p@mail:25\n" : ""),
      }),
    );
    expect(settings.smtpUrl).toBe("smtp://u:p@mail:25");
    const smtp = values.find((entry) => entry.key === "smtp_url");
    expect(smtp).toMatchObject({
      value: "********",
      source: "environment_file",
      origin: "CROFT_SMTP_URL_FILE",
    });
  });

  test("a byte order mark at the start of a twin's file is no part of its text", () => {
    const { settings } = resolveSettings(
      input({ env: { CROFT_FORGE_TOKEN_FILE: "t" }, readFile: () => "\uFEFFabc\r\n" }),
    );
    expect(settings.forgeToken).toBe("abc");
  });

  test("backup_passphrase takes 12 characters or more, and a refusal does not print it", () => {
    const read = (passphrase: string) =>
      resolveSettings(input({ env: { CROFT_BACKUP_PASSPHRASE: passphrase } })).settings;
    expect(read("twelve chars").backupPassphrase).toBe("twelve chars");
    expect(() => read("eleven long")).toThrow(
      /^CROFT_BACKUP_PASSPHRASE takes a text on one line of at least 12 characters$/,
    );
  });

  test("the result cannot be changed, lists included", () => {
    const { settings } = resolveSettings(input());
    expect(() => Object.assign(settings, { port: 1 })).toThrow(TypeError);
    expect(() => (settings.trustedProxies as string[]).push("0.0.0.0/0")).toThrow(TypeError);
  });
});

describe("mistakes", () => {
  test("all are reported together, each naming key, source and valid values", () => {
    const problems = problemsOf({
      flags: { port: "70000" },
      env: {
        CROFT_LOG_LEVEL: "loud",
        CROFT_PUBLIC_ULR: "x",
        CROFT_HOST_FILE: "/gone",
        HOME: "/home/mira",
      },
      fileText: "publik_url: https://x.example\nmax_upload_bytes: lots\nallow_registration: [1]\n",
    });
    expect(problems.toSorted()).toEqual(
      [
        '--port takes a whole number from 0 to 65535, not "70000"',
        'CROFT_LOG_LEVEL takes one of trace, debug, info, warn, error, fatal, silent, not "loud"',
        "unknown environment variable CROFT_PUBLIC_ULR; did you mean CROFT_PUBLIC_URL?",
        "CROFT_HOST_FILE names /gone, which cannot be read: no such file /gone",
        'unknown setting "publik_url" in /home/mira/.config/croft/config.yaml; did you mean public_url?',
        'max_upload_bytes in /home/mira/.config/croft/config.yaml takes a size of at least 0 bytes, such as 1048576, 512MiB or 5GB, not "lots"',
        "allow_registration in /home/mira/.config/croft/config.yaml takes true or false (also on, off, yes, no, 1, 0), not [1]",
      ].toSorted(),
    );
  });

  test("variables of the launcher and the tests are not settings", () => {
    expect(problemsOf({ env: { CROFT_NODE: "/n", CROFT_TEST_ANYTHING: "1" } })).toEqual([]);
  });

  test("a variable and its twin together are refused", () => {
    expect(problemsOf({ env: { CROFT_PORT: "1", CROFT_PORT_FILE: "/p" } })).toEqual([
      "CROFT_PORT and CROFT_PORT_FILE are both set; unset one of them",
    ]);
  });

  test("neither a secret nor the content of a twin's file is repeated", () => {
    const problems = problemsOf({
      env: { CROFT_SMTP_URL: "http://u:hunter2@mail", CROFT_PORT_FILE: "/etc/shadow" },
      readFile: () => "root:hunter2",
    });
    expect(problems).toHaveLength(2);
    expect(problems.join()).not.toContain("hunter2");
  });

  test("an invalid value in the file of a _FILE twin is reported with the file, not the variable", () => {
    const problems = problemsOf({ env: { CROFT_PORT_FILE: "/p" }, readFile: () => "many" });
    expect(problems).toEqual([
      "the file that CROFT_PORT_FILE names takes a whole number from 0 to 65535",
    ]);
  });

  test("a twin and a key that is written as its variable are known again", () => {
    expect(problemsOf({ env: { CROFT_PORT_FIEL: "/p" } }).join()).toContain(
      "did you mean CROFT_PORT_FILE?",
    );
    // The prefix that all share makes no two names alike.
    const far = problemsOf({ env: { CROFT_TOKEN: "t" } }).join();
    expect(far).toContain("unknown environment variable CROFT_TOKEN");
    expect(far).not.toContain("did you mean");
    for (const key of ["PORT", "croft_port", "CROFT_PORT"])
      expect(problemsOf({ fileText: `${key}: 1` }).join()).toContain("did you mean port?");
  });

  test("an invalid master key is reported with its variable and without its text", () => {
    const mistake = (key: string) => problemsOf({ env: { CROFT_MASTER_KEY: key } });
    expect(mistake("s3cret")).toEqual([
      "CROFT_MASTER_KEY takes 32 bytes as 64 hex digits or as base64, or several, separated by commas",
    ]);
    for (const key of [",", "07".repeat(31), `${"07".repeat(32)},x`])
      expect(mistake(key)).toHaveLength(1);
    const base64 = Buffer.alloc(32, 7).toString("base64");
    for (const key of ["07".repeat(32), base64, `${"0A".repeat(32)}, ${base64}`])
      expect(mistake(key)).toEqual([]);
  });

  test("settings that locate the config file cannot be in it", () => {
    expect(problemsOf({ fileText: "home: /x\nmaster_key: abc\n" })).toEqual([
      "home cannot be in the config file; use CROFT_HOME",
      "master_key cannot be in the config file; use CROFT_MASTER_KEY",
    ]);
  });

  test.each([["- a\n"], ["just text"], ["a: b: c"], ["port: 1\nport: 2\n"]])(
    "a config file that is not a mapping is refused: %j",
    (fileText) => {
      expect(problemsOf({ fileText })).toHaveLength(1);
    },
  );

  test("a file of comments only is empty", () => {
    expect(problemsOf({ fileText: "# nothing yet\n" })).toEqual([]);
  });
});

describe("types", () => {
  const read = (fileText: string) => resolveSettings(input({ fileText })).settings;

  test.each([
    ["1048576", 1_048_576],
    ["1MiB", 1_048_576],
    ["1.5 GB", 1_500_000_000],
    ["2g", 2 ** 31],
  ])("parses the size %s", (given, bytes) => {
    expect(read(`max_upload_bytes: ${given}`).maxUploadBytes).toBe(bytes);
  });

  test("TLS takes off, self or two files", () => {
    expect(read("tls: off").tls).toEqual({ kind: "off" });
    expect(read("tls: self").tls).toEqual({ kind: "self" });
    expect(read("tls: cert.pem, ~/key.pem").tls).toEqual({
      kind: "files",
      certificateFile: "/home/mira/.config/croft/cert.pem",
      keyFile: "/home/mira/key.pem",
    });
    expect(problemsOf({ flags: { tls: "cert.pem" } })).toHaveLength(1);
  });

  test.each([
    ["LOCALHOST", "localhost"],
    ["localhost.", "localhost"],
    ["[::1]", "::1"],
    ["0:0:0:0:0:0:0:1", "::1"],
    ["127.1", "127.0.0.1"],
    ["0.0.0.0", "0.0.0.0"],
    ["Nas.Example.org", "nas.example.org"],
  ])("the host %s is %s", (given, host) => {
    expect(resolveSettings(input({ flags: { host: given } })).settings.host).toBe(host);
  });

  test.each([
    "http://nas",
    "nas:7420",
    "[::1]:7420",
    "*",
    "a b",
    "[::1",
    "fe80::1%eth0",
    "256.0.0.1",
  ])("the host %s is invalid", (given) => {
    expect(problemsOf({ env: { CROFT_HOST: given } })).toEqual([
      `CROFT_HOST takes an IP address or a host name, without scheme and port, not "${given}"`,
    ]);
  });

  test("lists accept commas, YAML lists and an empty value", () => {
    expect(read("trusted_proxies: none").trustedProxies).toEqual([]);
    expect(read("allowed_hosts: [Croft.Example.org, '[0::1]', nas]").allowedHosts).toEqual([
      "croft.example.org",
      "::1",
      "nas",
    ]);
    expect(read("local_roots: [a, /b]").localRoots).toEqual(["/home/mira/.config/croft/a", "/b"]);
    expect(
      resolveSettings(input({ env: { CROFT_LOCAL_ROOTS: "a:/b" } })).settings.localRoots,
    ).toEqual(["/srv/a", "/b"]);
    for (const wrong of [
      "10.0.0.0/33",
      "everyone",
      "10.0.0.0/8;::1",
      "fe80::1%eth0",
      "::/129",
      "10.0.0.0/08",
      "::1/",
      "10.1",
    ]) {
      expect(problemsOf({ env: { CROFT_TRUSTED_PROXIES: wrong } })).toHaveLength(1);
    }
    expect(problemsOf({ env: { CROFT_ALLOWED_HOSTS: "croft.example:80" } })).toHaveLength(1);
    expect(problemsOf({ env: { CROFT_ALLOWED_ORIGINS: "https://a.example/path" } })).toHaveLength(
      1,
    );
  });

  test("addresses have the right scheme, and base addresses no user, query or last slash", () => {
    expect(read("public_url: https://croft.example/base/").publicUrl).toBe(
      "https://croft.example/base",
    );
    expect(read("breach_url: off").breachUrl).toBe("off");
    expect(read("breach_url: 'off'").breachUrl).toBe("off");
    for (const wrong of ["ftp://x", "croft.example", "https://u:p@x", "https://x?y"]) {
      expect(problemsOf({ env: { CROFT_PUBLIC_URL: wrong } })).toHaveLength(1);
    }
    expect(problemsOf({ env: { CROFT_DATABASE_URL: "mysql://x" } })).toHaveLength(1);
    expect(problemsOf({ env: { CROFT_DATABASE_URL: "postgres:///croft" } })).toHaveLength(1);
    const socket = "postgres:///croft?host=/run/postgresql";
    expect(problemsOf({ env: { CROFT_DATABASE_URL: socket } })).toEqual([]);
  });

  test("a bucket is one of Amazon's, or of the endpoint that is named", () => {
    const bucketOf = (url: string) =>
      resolveSettings(input({ env: { CROFT_OBJECTS_URL: url } })).settings.objectsUrl;
    expect(bucketOf("s3://croft")).toEqual({
      bucket: "croft",
      folder: "",
      endpoint: "https://s3.us-east-1.amazonaws.com",
      region: "us-east-1",
      isPathStyle: false,
    });
    const onNas = {
      bucket: "Croft_1",
      folder: "a/b.c",
      endpoint: "http://nas.lan:9000",
      region: "garage",
      isPathStyle: true,
    };
    const query = "?endpoint=http://nas.lan:9000/&region=garage";
    expect(bucketOf(`s3://Croft_1/a/b.c/${query}`)).toEqual(onNas);
    expect(bucketOf(`s3://Croft_1/a/b.c${query}&path_style=off`)).toEqual({
      ...onNas,
      isPathStyle: false,
    });
    // The certificate of such a host would not fit.
    expect(bucketOf("s3://croft.example.org?region=eu-west-1")).toMatchObject({
      endpoint: "https://s3.eu-west-1.amazonaws.com",
      isPathStyle: true,
    });
  });

  test.each([
    "s3://",
    "s3:bucket",
    "https://bucket.s3.amazonaws.com",
    "s3://key:s3cret@bucket",
    "s3://s3cret@bucket",
    "s3://bucket:9000",
    "s3://bucket#s3cret",
    "s3://bucket?access_key=s3cret",
    "s3://bucket?region=a&region=b",
    "s3://bucket?region=a/b",
    "s3://bucket?path_style=maybe",
    "s3://bucket?endpoint=nas.lan",
    "s3://bucket?endpoint=ftp://nas.lan",
    "s3://bucket?endpoint=https://u:s3cret@nas.lan",
    "s3://bucket?endpoint=https://nas.lan/path",
    "s3://bucket/a b",
    "s3://bucket/a//b",
  ])("%s is not a bucket, and is not repeated", (url) => {
    const problems = problemsOf({ env: { CROFT_OBJECTS_URL: url } });
    expect(problems).toEqual([expect.stringMatching(/^CROFT_OBJECTS_URL takes s3:\/\/BUCKET/)]);
    expect(problems.join()).not.toContain("s3cret");
  });
});

describe("folders", () => {
  const around = { ...input(), readFile: () => "" };

  test("CROFT_HOME is the data folder and holds everything else too", () => {
    expect(resolvePaths({ ...around, env: { CROFT_HOME: "box" } })).toEqual({
      home: "/srv/box",
      configFile: "/srv/box/config.yaml",
      configDirectory: "/srv/box",
      dataDirectory: "/srv/box",
      stateDirectory: "/srv/box/state",
      cacheDirectory: "/srv/box/state/cache",
    });
  });

  test("XDG folders count when they are absolute", () => {
    const env = { XDG_DATA_HOME: "/xdg/data", XDG_CONFIG_HOME: "relative" };
    expect(resolvePaths({ ...around, env })).toMatchObject({
      home: undefined,
      configFile: "/home/mira/.config/croft/config.yaml",
      dataDirectory: "/xdg/data/croft",
      stateDirectory: "/home/mira/.local/state/croft",
    });
  });

  test("macOS and Windows have their own", () => {
    expect(
      resolvePaths({ ...around, platform: "darwin", homeDirectory: "/Users/mira" }),
    ).toMatchObject({
      dataDirectory: "/Users/mira/Library/Application Support/croft",
      stateDirectory: "/Users/mira/Library/Application Support/croft/state",
      cacheDirectory: "/Users/mira/Library/Caches/croft",
    });
    const env = {
      APPDATA: "C:\\Users\\mira\\AppData\\Roaming",
      LOCALAPPDATA: "C:\\Users\\mira\\AppData\\Local",
    };
    expect(
      resolvePaths({ ...around, platform: "win32", homeDirectory: "C:\\Users\\mira", env }),
    ).toMatchObject({
      configFile: "C:\\Users\\mira\\AppData\\Roaming\\croft\\config.yaml",
      dataDirectory: "C:\\Users\\mira\\AppData\\Local\\croft\\data",
    });
  });

  test("--config names the file and its folder", () => {
    expect(resolvePaths({ ...around, flags: { config: "my.yaml" } }).configDirectory).toBe("/srv");
  });
});

test("the least length of a password that commands tell is the default of min_password_length", () => {
  expect(resolveSettings(input()).settings.minPasswordLength).toBe(PASSWORD_LENGTH_MIN);
});
