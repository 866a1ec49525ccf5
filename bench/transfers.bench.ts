import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, open, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { createDavStandIn } from "../test/stand-ins/dav-server.ts";
import { serve } from "../test/stand-ins/serve.ts";
import { croftJson, type CroftEnvironment } from "../test/support/croft.ts";
import { built, makeHome, PASSWORD } from "./daemon.ts";
import { atLeast, atMost, findProgram, median, report } from "./measure.ts";

// Many small files in few requests, and one large file: through the command line and through the API.

const LATENCY_MS = 20;
const ONE_BY_ONE = 100;
const GIB = 1024 ** 3;
const ROUNDS = 3;
/** Access tokens are bound to these headers. */
const CLIENT = { "User-Agent": "croft-bench", "Accept-Language": "en" } as const;

const run = promisify(execFile);
const local = await mkdtemp(join(tmpdir(), "croft-bench-transfers-"));
const dav = createDavStandIn(
  { username: "u", password: "p" },
  {
    handle: async () => {
      await sleep(LATENCY_MS);
      return false;
    },
  },
);

try {
  await using storage = await serve((request, response) => dav.handle(request, response));
  await using home = await makeHome();
  // The document's limit of 100 requests a minute is on.
  const daemon = await home.serve({
    CROFT_RATE_LIMITS: "on",
    CROFT_LOCAL_ROOTS: join(local, "roots"),
  });
  try {
    const around: CroftEnvironment = { home: home.home, cwd: local };
    const croft = (...args: string[]) => croftJson(built, ["--url", daemon.url, ...args], around);
    const account = ["--url", daemon.url, "--email", "mira@example.org", "--password-stdin"];
    await croftJson(built, ["vault", "register", "--handle", "mira", ...account], around, PASSWORD);
    await croftJson(built, ["login", "vault", ...account], around, PASSWORD);
    const root = join(local, "roots", "mira", "x");
    await mkdir(root, { recursive: true });
    await croft(
      "vault",
      "connection",
      "add",
      "local_folder",
      "--name",
      "loc",
      "--setting",
      "root=x",
    );
    await croftJson(
      built,
      [
        ...["vault", "connection", "add", "webdav", "--url", daemon.url, "--name", "dav"],
        ...["--setting", `url=${storage.origin}/dav`],
        ...["--setting", "username=u", "--credential-stdin", "password"],
      ],
      around,
      "p",
    );

    for (let folder = 0; folder < 20; folder++) {
      await mkdir(join(local, "many", `d${folder}`), { recursive: true });
      for (let at = 0; at < 100; at++)
        await writeFile(join(local, "many", `d${folder}`, `f${at}`), randomBytes(3_000));
    }
    const up = await seconds(() => croft("vault", "item", "upload", "-r", "many", "loc:/"));
    const arrived = await readdir(join(root, "many"), { recursive: true, withFileTypes: true });
    const count = arrived.filter((entry) => entry.isFile()).length;
    if (count !== 2_000) throw new Error(`${count} files arrived`);
    const down = await seconds(() =>
      croft("vault", "item", "download", "-r", "loc:/many", "-o", "back"),
    );
    await run("diff", ["-r", join(local, "many"), join(local, "back", "many")]);

    const names = Array.from({ length: 1_000 }, (_, at) => `f${at}`);
    await mkdir(join(local, "thousand"));
    for (const name of names) await writeFile(join(local, "thousand", name), randomBytes(1_000));
    const together = await seconds(() =>
      croft("vault", "item", "upload", "-r", "thousand", "dav:/"),
    );
    const token = await signIn(daemon.url);
    const connections = await listConnections(daemon.url, token);
    const id = connections.find((one) => one.display_name === "dav")?.id ?? "";
    const alone = await seconds(async () => {
      for (const name of names.slice(0, ONE_BY_ONE)) {
        const form = new FormData();
        form.set("filename", `alone-${name}`);
        form.set("file", new Blob([randomBytes(1_000)]), name);
        const answer = await fetch(`${daemon.url}/api/cloud/connections/${id}/items/upload`, {
          method: "POST",
          headers: { Authorization: `Bearer ${token}`, ...CLIENT },
          body: form,
        });
        if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
        await answer.arrayBuffer();
      }
    });

    const figures = [
      atMost("2,000 files of 3 KB to a local folder, default limits", up, 20, "s"),
      { label: "the same back", value: `${down.toFixed(1)} s` },
      atLeast(
        `1,000 files to a WebDAV server with ${LATENCY_MS} ms a request against one by one, files/s`,
        1_000 / together / (ONE_BY_ONE / alone),
        5,
      ),
      {
        label: "files/s of both",
        value: `${(1_000 / together).toFixed(0)} and ${(ONE_BY_ONE / alone).toFixed(1)}`,
      },
    ];

    const curl = await findProgram("curl");
    if (curl === undefined) figures.push({ label: "1 GiB beside curl", value: "skipped: no curl" });
    else {
      await fill(join(root, "large.bin"), GIB);
      const loc = connections.find((one) => one.display_name === "loc")?.id ?? "";
      const url = `${daemon.url}/api/cloud/connections/${loc}/items/large.bin/download`;
      const pairs: { readonly croft: number; readonly curl: number }[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const byCurl = await seconds(() =>
          run(curl, [
            ...["-sSf", "-o", join(local, "by-curl"), "-H", `Authorization: Bearer ${token}`],
            ...[
              "-A",
              CLIENT["User-Agent"],
              "-H",
              `Accept-Language: ${CLIENT["Accept-Language"]}`,
              url,
            ],
          ]),
        );
        const byCroft = await seconds(() =>
          croft("vault", "item", "get", "loc:/large.bin", "-o", "by-croft"),
        );
        if (round === 0) await run("cmp", [join(local, "by-curl"), join(local, "by-croft")]);
        pairs.push({ croft: byCroft, curl: byCurl });
        await rm(join(local, "by-curl"));
        await rm(join(local, "by-croft"));
      }
      figures.push(
        atLeast(
          "item get of 1 GiB against curl, speed",
          median(pairs.map((pair) => pair.curl / pair.croft)),
          0.6,
        ),
      );
    }
    report(
      "transfers",
      "Folders of many small files are the usual case of a first upload, and a server's latency must not add up.",
      figures,
    );
  } finally {
    await daemon.end("SIGTERM");
  }
} finally {
  await rm(local, { recursive: true, force: true });
}

async function signIn(url: string): Promise<string> {
  const answer = await fetch(`${url}/api/auth/login`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...CLIENT },
    body: JSON.stringify({ email: "mira@example.org", password: PASSWORD }),
  });
  return ((await answer.json()) as { readonly access_token: string }).access_token;
}

async function listConnections(
  url: string,
  token: string,
): Promise<readonly { readonly id: string; readonly display_name: string }[]> {
  const answer = await fetch(`${url}/api/cloud/connections`, {
    headers: { Authorization: `Bearer ${token}`, ...CLIENT },
  });
  return ((await answer.json()) as { readonly items: [] }).items;
}

async function fill(path: string, bytes: number): Promise<void> {
  const chunk = randomBytes(16 * 1024 ** 2);
  const file = await open(path, "w");
  try {
    for (let at = 0; at < bytes; at += chunk.byteLength) await file.writeFile(chunk);
  } finally {
    await file.close();
  }
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const before = performance.now();
  await work();
  return (performance.now() - before) / 1000;
}
