import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type CroftCommand,
  croftJson,
  runCroft,
  type ServedCroft,
  serveCroft,
} from "../support/croft.ts";

// Trees up and down between a real disk and a daemon with a connected folder.

const croft: CroftCommand = [process.execPath, join(import.meta.dirname, "../../bin/croft.js")];
const password = "Correct-Horse-7-Battery";
const execute = promisify(execFile);

let home = "";
let served: ServedCroft | undefined;

const at = () => ({ home, cwd: join(home, "work"), env: { CROFT_URL: served?.url ?? "" } });

/** Characters that a name may contain on this disk, among them those that break naive code for paths and headers. */
const hostileNames = [
  "plain.txt",
  "Größe ü.txt",
  "Gro\u0308ße nfd.txt",
  "🎉 party 🇩🇪.bin",
  "a\\..\\..\\b",
  "C:\\windows\\x",
  "100% #1 ?q=+&.txt",
  `quo"te's.txt`,
  "-rf",
  ".hidden",
  "...",
  " leading and trailing ",
  "\u202egnp.exe",
  "NUL",
  "download",
  "open",
  "CASE.txt",
  "case.txt",
  `${"x".repeat(251)}.txt`,
  "empty",
];

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "croft-transfers-"));
  for (const folder of ["work", "files/mira/papers"])
    await mkdir(join(home, folder), { recursive: true });
  for (const folder of ["", "in/", "in/Über 🎉/deeper/"])
    for (const [index, name] of hostileNames.entries()) {
      const path = join(home, "work/tree", folder, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, name === "empty" ? "" : Buffer.alloc(index * 997, name));
    }
  await mkdir(join(home, "work/tree/nothing here/at all"), { recursive: true });
  const around = { home };
  const admin = "init --username keeper --email keeper@example.org --password-stdin";
  await croftJson(croft, admin.split(" "), around, password);
  // Other tests cover the limits; here they would only cost a minute.
  served = await serveCroft(croft, { home, env: { CROFT_RATE_LIMITS: "off" } });
  const run = (line: string, stdin = "") => croftJson(croft, line.split(" "), at(), stdin);
  await run("vault register --handle mira --email mira@example.org --password-stdin", password);
  await run("login vault --email mira@example.org --password-stdin", password);
  await run(
    `vault connection add local_folder --name Papers --setting root=${join(home, "files/mira/papers")}`,
  );
}, 240_000);

afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
  if (home !== "") await rm(home, { recursive: true, force: true });
});

describe("a tree of hostile names", () => {
  test("a tree of hostile names is uploaded and downloaded unchanged, twice without a second copy", async () => {
    type Result = { skipped: string | null; error: unknown }[];
    const up = ["vault", "item", "upload", "tree", "Papers:/", "-r", "--skip-existing"];
    const sent = await croftJson<Result>(croft, up, at());
    expect(sent.filter(({ error }) => error !== null)).toEqual([]);
    expect(sent).toHaveLength(hostileNames.length * 3);
    const down = ["vault", "item", "download", "Papers:/", "-r", "-o", "back", "--skip-existing"];
    const came = await croftJson<Result>(croft, down, at());
    expect(came.filter(({ error }) => error !== null)).toEqual([]);
    const compared = await execute("diff", ["-r", "tree", "back/tree"], {
      cwd: join(home, "work"),
    }).catch((error: unknown) => error as { readonly stdout: string });
    // The vault has one spelling for accents, a disk any.
    const differences = compared.stdout.split("\n").filter((line) => line !== "");
    expect(differences.filter((line) => !line.endsWith(" nfd.txt"))).toEqual([]);
    expect(await readdir(join(home, "work"))).toEqual(["back", "tree"]);

    for (const line of [up, down]) {
      const again = await croftJson<Result>(croft, line, at());
      expect(again.filter(({ skipped }) => skipped !== "same")).toEqual([]);
    }
  });

  test("a tree of hostile names is refused where it is, each file by itself", async () => {
    const down = [
      "vault",
      "item",
      "download",
      "Papers:/tree/in",
      "-r",
      "-o",
      "back/tree",
      "--json",
    ];
    const { code, stderr, stdout } = await runCroft(croft, down, at());
    expect([code, stdout]).toEqual([7, ""]);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "conflict" } });
  });
});
