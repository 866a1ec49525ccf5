import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CliError } from "../../../cli/errors.ts";
import { createIfAbsent } from "../../../cli/support/if-absent.ts";
import type { CliContext } from "../../../cli/context.ts";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople, type ForgePeople } from "../../support/forge/forge-people.ts";
import { createPerson } from "../../support/vault/vault-person.ts";
import { STRONG } from "../../support/vault/vault-accounts.ts";
import { toShellLine } from "../examples/shell-line.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";

let daemon: TestDaemon;
/** Signed in to the vault as its administrator, and as a user. */
let home: Awaited<ReturnType<typeof temporaryHome>>;
let userHome: Awaited<ReturnType<typeof temporaryHome>>;
let folder: string;
let people: ForgePeople;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-if-absent-"));
  await writeFile(join(folder, "a.pub"), `${keyOf(1)} mira@laptop\n`);
  await writeFile(join(folder, "same.pub"), keyOf(1));
  await writeFile(join(folder, "b.pub"), keyOf(2));
  await writeFile(join(folder, "c.pub"), keyOf(3));
  await writeFile(join(folder, "d.pub"), keyOf(4));
  daemon = await startTestDaemon({
    env: { CROFT_RATE_LIMITS: "off", CROFT_LOCAL_ROOTS: folder },
  });
  home = await temporaryHome();
  userHome = await temporaryHome();
  people = createForgePeople(() => daemon);
  await people.newUser("mira");
  await people.newUser("noor");
  await people.api("POST", "/admin/users/mira/orgs", { username: "lodge" });
  await people.api("POST", "/admin/users/mira/repos", { name: "notes", auto_init: true });
  expect((await createPerson(daemon, "mira", "192.0.2.1").register()).status).toBe(201);
  await mkdir(join(folder, "mira", "papers"), { recursive: true });
  for (const [path, email, stdin] of [
    [home.path, daemon.first?.vault.email ?? "", daemon.first?.password ?? ""],
    [userHome.path, "mira@example.org", STRONG],
  ] as const) {
    const line = ["login", "vault", "--email", email, "--password-stdin"];
    const login = await runCli(line, { home: path, env: { CROFT_URL: daemon.url }, stdin });
    expect(login.code, login.err).toBe(0);
  }
});
afterAll(async () => {
  await home[Symbol.asyncDispose]();
  await userHome[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** A public key with this seed. */
function keyOf(seed: number): string {
  const type = "ssh-ed25519";
  const part = (bytes: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.byteLength);
    return Buffer.concat([length, bytes]);
  };
  const body = Buffer.concat([part(Buffer.from(type)), part(Buffer.alloc(32, seed))]);
  return `${type} ${body.toString("base64")}`;
}

function croft(line: string, user = "", stdin?: string) {
  return runCli([...toShellLine(`croft ${line}`).words, "--json"], {
    home: user === "" ? home.path : userHome.path,
    workingDirectory: folder,
    env: {
      CROFT_URL: daemon.url,
      CROFT_FORGE_TOKEN: user === "" ? (daemon.first?.forge.token ?? "") : people.tokenOf(user),
    },
    ...(stdin === undefined ? {} : { stdin }),
  });
}

/** A command, another spelling or set of flags for the same thing, and a text of the note about their difference. */
const commands: readonly (readonly [
  line: string,
  again: string,
  difference: string | undefined,
])[] = [
  ["repo create papers", "repo create PAPERS --private", "--private is false, not true"],
  ["repo create tools --org lodge --description x", "repo create tools --org lodge", undefined],
  [
    "org create guild --full-name Guild",
    "org create Guild --full-name Other",
    '--full-name is "Guild", not "Other"',
  ],
  [
    "team create lodge masons --permission write",
    "team create lodge Masons --permission read --unit code",
    '--permission is "write", not "read"',
  ],
  [
    "label create mira/notes bug --color '#D73A4A'",
    "label create mira/notes bug --color ff0000",
    '--color is "d73a4a", not "ff0000"',
  ],
  ["label create lodge bug", "label create lodge bug --color '#EDEDED'", undefined],
  [
    "milestone create mira/notes 1.0 --due 2027-01-02",
    "milestone create mira/notes 1.0 --due 2027-01-03",
    '--due is "2027-01-02", not "2027-01-03"',
  ],
  [
    "repo branch create mira/notes feature/a",
    "repo branch create mira/notes feature/a --from main",
    undefined,
  ],
  [
    "repo tag create mira/notes v1",
    "repo tag create mira/notes v1 -m One --target main",
    '--message is "Initial commit", not "One"',
  ],
  [
    "repo protection create mira/notes 'release/*'",
    "repo protection create mira/notes 'release/*' --push-user mira",
    '--push-user is "", not "mira"',
  ],
  ["ssh-key add a.pub", "ssh-key add same.pub --title other", '--title is "a.pub", not "other"'],
  [
    "repo deploy-key add mira/notes b.pub",
    "repo deploy-key add mira/notes b.pub --allow-write",
    "--allow-write is false, not true",
  ],
  [
    "vault topic create Café",
    "vault topic create cafe --description Coffee",
    '--description is "", not "Coffee"',
  ],
];

const ofAdministrators: typeof commands = [
  [
    "admin user create --username otto --email otto@example.org --random-password",
    "admin user create --username Otto --email other@example.org --random-password",
    '--email is "otto@example.org", not "other@example.org"',
  ],
  ["admin org create works --owner noor", "admin org create works --owner noor", undefined],
  ["admin repo create noor/notes --private", "admin repo create noor/notes", undefined],
  ["admin user key add noor c.pub", "admin user key add noor c.pub --title c.pub", undefined],
  [
    "admin badge create founder",
    "admin badge create founder --description First",
    '--description is "", not "First"',
  ],
  [
    "vault admin user create --handle otto --email otto@example.org",
    "vault admin user create --handle OTTO --email Otto@example.org --role admin",
    '--role is "user", not "admin"',
  ],
  [
    "vault topic create Café --system",
    "vault topic create CAFÉ --system --description All",
    '--description is "", not "All"',
  ],
];

describe("--if-absent", () => {
  test.each([
    ...commands.map((one) => ["mira", ...one] as const),
    ...ofAdministrators.map((one) => ["", ...one] as const),
  ])(
    "--if-absent creates a thing once, and names differences afterwards: as %s, %s",
    async (user, line, again, difference) => {
      const created = await croft(`${line} --if-absent`, user);
      expect(created.code, created.err).toBe(0);
      expect(created.err).not.toContain("exists already");
      const { password, ...resource } = created.json() as { password?: string };
      if (line.includes("--random-password")) expect(password).toMatch(/./);

      const repeated = await croft(`${line} --if-absent`, user);
      expect(repeated.code, repeated.err).toBe(0);
      expect(repeated.err).toMatch(/exists already; nothing was changed\.\n$/);
      expect(Object.keys(repeated.json() as object)).toEqual(Object.keys(resource));
      expect(idOf(repeated.json())).toEqual(idOf(resource));

      const other = await croft(`${again} --if-absent`, user);
      expect(other.code, other.err).toBe(0);
      expect(idOf(other.json())).toEqual(idOf(resource));
      expect(other.err).toContain(difference ?? "exists already; nothing was changed.");

      // Without the flag the server decides; labels and milestones of one name may exist twice.
      if (/^(?:label|milestone)/.test(line)) return;
      const refused = await croft(line, user);
      expect([5, 7, 12]).toContain(refused.code);
      expect(refused.out).toBe("");
    },
  );

  test("e-mail addresses that the account has are printed unchanged, and the others are added", async () => {
    const first = await croft("email add one@example.net --if-absent", "mira");
    expect(first.json()).toMatchObject([{ email: "one@example.net" }]);
    const both = await croft("email add ONE@example.net two@example.net --if-absent", "mira");
    expect(both.code, both.err).toBe(0);
    expect(both.err).toContain("The address ONE@example.net exists already");
    expect(both.json()).toMatchObject([{ email: "one@example.net" }, { email: "two@example.net" }]);
    expect([7, 12]).toContain((await croft("email add one@example.net", "mira")).code);
    const foreign = await croft("email add one@example.net --if-absent", "noor");
    expect([7, 12]).toContain(foreign.code);
  });

  test("a connection is looked up by its name", async () => {
    const line = `vault connection add local_folder --name Papers --setting root=papers`;
    const created = await croft(`${line} --if-absent`, "mira");
    expect(created.code, created.err).toBe(0);
    const again = await croft(`${line} --if-absent`, "mira");
    expect(idOf(again.json())).toEqual(idOf(created.json()));
    const other = await croft("vault connection add webdav --name Papers --if-absent", "mira");
    expect(other.err).toContain('PROVIDER is "local_folder", not "webdav"');
    expect((await croft("vault connection add --name Papers --if-absent", "mira")).code).toBe(2);
  });
});

describe("--if-absent does not hide other conflicts", () => {
  test("--if-absent reports the e-mail address of another user as a conflict", async () => {
    const line =
      "admin user create --username newcomer --email noor@example.org --random-password --if-absent";
    const ran = await croft(line);
    expect([7, 12]).toContain(ran.code);
    expect(ran.out).toBe("");
    expect(ran.err).toContain("e-mail");
  });

  test("an organization of others, and a user with the name", async () => {
    await people.api("POST", "/admin/users/noor/orgs", { username: "closed" });
    const foreign = await croft("org create closed --if-absent", "mira");
    expect(foreign.code).toBe(7);
    expect(foreign.err).toContain("mira does not own it");
    const user = await croft("org create noor --if-absent", "mira");
    expect([7, 12]).toContain(user.code);
    const organization = "admin user create --username closed --email c@example.org";
    const ran = await croft(`${organization} --random-password --if-absent`);
    expect([7, 12]).toContain(ran.code);
  });

  test("a branch name that a tag has, and a key with a title that another key has", async () => {
    await croft("repo tag create mira/notes both", "mira");
    const branch = await croft("repo branch create mira/notes both --if-absent", "mira");
    expect(branch.code).toBe(7);
    const key = await croft("ssh-key add d.pub --title taken --if-absent", "noor");
    expect(key.code, key.err).toBe(0);
    await writeFile(join(folder, "e.pub"), keyOf(5));
    const other = await croft("ssh-key add e.pub --title taken --if-absent", "noor");
    expect(other.code).toBe(12);
    // Of another user: it is not in the own list.
    expect((await croft("ssh-key add d.pub --if-absent", "mira")).code).toBe(12);
  });

  test("a former name, which redirects, is free", async () => {
    await croft("repo create former", "mira");
    await people.by("mira", "PATCH", "/repos/mira/former", { name: "present" });
    const ran = await croft("repo create former --if-absent", "mira");
    expect(ran.json()).toMatchObject({ full_name: "mira/former" });
    expect(ran.err).not.toContain("exists");
  });

  test("a caller without rights, and a place that does not exist", async () => {
    expect((await croft("repo branch create mira/notes x --if-absent", "noor")).code).toBe(5);
    expect((await croft("label create mira/none bug --if-absent", "mira")).code).toBe(6);
    expect((await croft("admin badge create other --if-absent", "mira")).code).toBe(5);
  });
});

test("a dry run of --if-absent prints the request, or the existing thing", async () => {
  const absent = await croft("label create mira/notes dry --if-absent --dry-run", "mira");
  expect(absent.json()).toMatchObject({ request: { method: "POST" } });
  await croft("label create mira/notes dry", "mira");
  const existing = await croft("label create mira/notes dry --if-absent --dry-run", "mira");
  expect(existing.json()).toMatchObject({ name: "dry" });
});

test("of several that create the same at once, all succeed with the same thing", async () => {
  for (const line of [
    "repo create raced",
    "org create racers",
    "team create lodge racers",
    "label create mira/notes raced",
    "milestone create mira/notes raced",
    "repo branch create mira/notes raced",
    "repo tag create mira/notes raced2",
  ]) {
    const ran = await Promise.all(
      Array.from({ length: 5 }, () => croft(`${line} --if-absent`, "mira")),
    );
    expect(ran.map(({ code, err }) => [code, err]).filter(([code]) => code !== 0)).toEqual([]);
    expect(new Set(ran.map((one) => JSON.stringify(idOf(one.json())))).size).toBe(1);
  }
});

describe("createIfAbsent", () => {
  const notes: string[] = [];
  const io = { note: (line: string) => notes.push(line), warn: (line: string) => notes.push(line) };
  const cli = { io } as unknown as CliContext;

  test("looks again after a conflict, and keeps the server's error when nothing is there", async () => {
    let looks = 0;
    const refuse = async () => {
      throw new CliError("conflict", "taken");
    };
    const raced = await createIfAbsent(cli, {
      ifAbsent: true,
      title: "the thing",
      find: async () => ((looks += 1) > 1 ? { id: 1 } : undefined),
      create: refuse,
    });
    expect(raced).toEqual({ value: { id: 1 }, isNew: false });
    expect(notes).toEqual(["The thing exists already; nothing was changed."]);
    const find = async () => {
      throw new CliError("not_found", "none");
    };
    await expect(
      createIfAbsent(cli, { ifAbsent: true, title: "the thing", find, create: refuse }),
    ).rejects.toThrow("taken");
  });

  test("does not look without the flag, nor create when the look fails", async () => {
    const refuse = async (): Promise<never> => {
      throw new CliError("forbidden", "no");
    };
    const create = async () => ({ id: 1 });
    expect(
      await createIfAbsent(cli, { ifAbsent: undefined, title: "x", find: refuse, create }),
    ).toEqual({ value: { id: 1 }, isNew: true });
    await expect(
      createIfAbsent(cli, { ifAbsent: true, title: "x", find: refuse, create }),
    ).rejects.toThrow("no");
  });
});

/** Returns the key of an object: its id, or its name if it has no id. */
function idOf(value: unknown): unknown {
  const { id, name, rule_name: rule } = value as Record<string, unknown>;
  return id ?? name ?? rule;
}
