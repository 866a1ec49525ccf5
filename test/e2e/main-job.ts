import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, readdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { expect } from "vitest";
import { croftJson, runCroft, serveCroft, type CroftCommand } from "../support/croft.ts";
import { JPEG, PDF } from "../support/real-files.ts";

const PASSWORD = "Correct-Horse-7-Battery";
const BIG_BYTES = 64 * 1024 * 1024;

interface Item {
  readonly provider_item_id: string;
  readonly name: string;
  readonly kind: string;
  readonly size: number | null;
}

/**
 * The main use of croft, from an empty home to a stopped daemon, by its command line alone: both administrators, a
 * forge user, a vault account, a connected folder with real files, a large upload, two downloads of which the second
 * does without the provider, a restart in between.
 */
export async function mainJob(command: CroftCommand, home: string): Promise<void> {
  const around = { home };
  const made = await croftJson<{ home: string; forge: { username: string; token: string } }>(
    command,
    ["init", "--username", "keeper", "--email", "keeper@example.org", "--password-stdin"],
    around,
    `${PASSWORD}\n`,
  );
  expect(made).toMatchObject({
    home,
    forge: { username: "keeper", token: expect.stringMatching(/^[0-9a-f]{40}$/) },
    vault: { handle: "keeper", email: "keeper@example.org" },
  });
  const again = await runCroft(
    command,
    ["init", "--username", "other", "--email", "other@example.org", "--password-stdin", "--json"],
    around,
    `${PASSWORD}\n`,
  );
  expect(again.code).toBe(7);

  const folder = await realFiles(home);
  await using first = await serveCroft(command, around);
  const itemId = await firstDay(command, home, first.url, folder);
  expect(await first.end("SIGTERM")).toBe(0);

  await using second = await serveCroft(command, around);
  const env = { CROFT_URL: second.url };
  const listed = await croftJson<Item[]>(command, ["vault", "item", "list", "Papers:/"], {
    home,
    env,
  });
  expect(listed.map((item) => item.name)).toContain("big.bin");
  expect(listed.find((item) => item.name === "big.bin")?.provider_item_id).toBe(itemId);
  await croftJson(command, ["daemon", "stop"], { home, env });
  const status = await runCroft(command, ["daemon", "status", "--json"], { home, env });
  expect(status.code).toBe(10);
}

async function firstDay(
  command: CroftCommand,
  home: string,
  url: string,
  folder: string,
): Promise<string> {
  const around = { home, env: { CROFT_URL: url } };
  const user = await croftJson<{ login: string; id: number }>(
    command,
    [
      "admin",
      "user",
      "create",
      "--username",
      "mira",
      "--email",
      "mira@example.org",
      "--random-password",
    ],
    around,
  );
  expect(user.login).toBe("mira");
  const users = await croftJson<{ login: string }[]>(command, ["admin", "user", "list"], around);
  expect(users.map((each) => each.login)).toEqual(["keeper", "mira"]);
  const names = ["admin", "user", "list", "--jq", 'map(.login) | join("+")'];
  expect(await runCroft(command, names, around)).toMatchObject({
    code: 0,
    stdout: "keeper+mira\n",
  });

  const account = await croftJson<{ handle: string; role: string }>(
    command,
    ["vault", "register", "--handle", "mira", "--email", "mira@example.org", "--password-stdin"],
    around,
    `${PASSWORD}\n`,
  );
  expect(account).toMatchObject({ handle: "mira", role: "user" });
  await croftJson(
    command,
    ["login", "vault", "--email", "mira@example.org", "--password-stdin"],
    around,
    `${PASSWORD}\n`,
  );
  await croftJson(
    command,
    [
      "vault",
      "connection",
      "add",
      "local_folder",
      "--name",
      "Papers",
      "--setting",
      `root=${folder}`,
    ],
    around,
  );
  const items = await croftJson<Item[]>(command, ["vault", "item", "list", "Papers:/"], around);
  // `.croft` is the connection's own folder for trash and half-written files: never listed.
  const real = (await readdir(folder)).filter((name) => name !== ".croft");
  expect(items.map((item) => item.name).toSorted()).toEqual(real.toSorted());

  const big = join(home, "big.bin");
  await writeFile(big, randomBytes(BIG_BYTES));
  const [uploaded] = await croftJson<Item[]>(
    command,
    ["vault", "item", "upload", big, "Papers:/"],
    around,
  );
  expect(uploaded).toMatchObject({ name: "big.bin", size: BIG_BYTES });

  const sent = await sha256(big);
  const download = (to: string) =>
    runCroft(command, ["vault", "item", "download", `Papers:/big.bin`, "--output", to], around);
  expect(await download(join(home, "first.bin"))).toMatchObject({ code: 0 });
  expect(await sha256(join(home, "first.bin"))).toBe(sent);
  // Without the bytes at the provider only the cache can serve them.
  await rename(join(folder, "big.bin"), join(home, "hidden.bin"));
  expect(await download(join(home, "second.bin"))).toMatchObject({ code: 0 });
  expect(await sha256(join(home, "second.bin"))).toBe(sent);
  await rename(join(home, "hidden.bin"), join(folder, "big.bin"));
  return uploaded?.provider_item_id ?? "";
}

async function realFiles(home: string): Promise<string> {
  const folder = join(home, "files", "mira", "Papers");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "Report 2026.pdf"), PDF);
  await writeFile(join(folder, "Übersicht größer.jpg"), JPEG);
  await writeFile(join(folder, "party 🎉.txt"), "hello\n");
  await mkdir(join(folder, "Old letters"));
  return folder;
}

async function sha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
