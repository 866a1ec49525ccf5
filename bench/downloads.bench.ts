import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawn } from "node:child_process";
import { makeHome, PASSWORD } from "./daemon.ts";
import { atLeast, atMost, findProgram, load, ratio, report, residentMiB } from "./measure.ts";
import type { Figure } from "./results.ts";

// Cached downloads against nginx with sendfile, serving the same files from the same disk.

const ROUNDS = 5;
const MEMORY_AIM_MIB = 200;
const SIZES = [
  { name: "1 KiB", bytes: 1024, aim: 0.4, connections: 32 },
  { name: "100 KiB", bytes: 100 * 1024, aim: 0.6, connections: 32 },
  { name: "10 MiB", bytes: 10 * 1024 ** 2, aim: 0.7, connections: 8 },
  { name: "512 MiB", bytes: 512 * 1024 ** 2, aim: 0.4, connections: 2 },
] as const;

/** Access tokens are bound to these headers: wrk must send the same ones as the sign-in. */
const CLIENT = { "User-Agent": "bench", "Accept-Language": "en" } as const;

const nginx = await findProgram("nginx", "/usr/sbin/nginx");
if (nginx === undefined || (await findProgram("wrk")) === undefined) {
  console.log("\nDownloads: skipped, nginx or wrk is not installed");
} else await measure(nginx);

async function measure(nginxProgram: string): Promise<void> {
  await using home = await makeHome();
  const papers = join(home.home, "files", "mira", "Papers");
  await mkdir(papers, { recursive: true });
  for (const { name, bytes } of SIZES)
    await writeFile(join(papers, `${name}.bin`), randomBytes(bytes));
  const serve = () =>
    home.serve({ CROFT_ACCESS_TOKEN_SECONDS: "86400", CROFT_BYTE_CACHE_BYTES: "2147483648" });
  let daemon = await serve();
  const web = await serveWithNginx(nginxProgram, papers);
  try {
    const account = { handle: "mira", email: "mira@example.org", password: PASSWORD };
    await post(`${daemon.url}/api/auth/register`, account);
    const { access_token } = await post<{ access_token: string }>(
      `${daemon.url}/api/auth/login`,
      account,
    );
    const headers = { ...CLIENT, Authorization: `Bearer ${access_token}` };
    const { id } = await post<{ id: string }>(
      `${daemon.url}/api/cloud/connections`,
      {
        provider: "local_folder",
        display_name: "Papers",
        settings: { root: papers },
        credentials: {},
      },
      headers,
    );
    await fetch(`${daemon.url}/api/cloud/connections/${id}/items`, { headers });
    const addressOf = (name: string) =>
      `${daemon.url}/api/cloud/connections/${id}/items/${encodeURIComponent(`${name}.bin`)}/download`;
    for (const { name } of SIZES) await discard(await fetch(addressOf(name), { headers }));
    const filled = await residentMiB(daemon.pid);
    // A new process, so that memory used to fill the cache does not count for answering from it.
    await daemon.end("SIGTERM");
    daemon = await serve();
    const figures: Figure[] = [];
    let peak = 0;
    for (const { name, aim, connections } of SIZES) {
      const item = addressOf(name);
      // A cached file is compared with its hash before it is first used.
      await discard(await fetch(item, { headers }));
      const measured = await ratio(
        ROUNDS,
        () => load(item, { headers, connections }),
        () => load(`${web.url}/${encodeURIComponent(`${name}.bin`)}`, { connections }),
      );
      peak = Math.max(peak, await residentMiB(daemon.pid));
      figures.push(
        {
          label: `${name}: croft, nginx`,
          value: `${measured.a.toFixed(1)}, ${measured.b.toFixed(1)} req/s`,
        },
        atLeast(`${name}: ratio`, measured.ratio, aim),
      );
    }
    report(
      "Cached downloads against nginx",
      "A cached file leaves as from a web server; small ones pay for authentication and a record, large ones only for bytes.",
      [
        ...figures,
        atMost("resident memory meanwhile", peak, MEMORY_AIM_MIB, "MiB"),
        { label: "resident memory after filling the cache", value: `${filled.toFixed(0)} MiB` },
      ],
    );
    await daemon.end("SIGTERM");
  } finally {
    web.stop();
  }
}

/** Takes an answer to its end without keeping it. */
async function discard(answer: Response): Promise<void> {
  for await (const _chunk of answer.body ?? []);
}

async function post<T = unknown>(
  url: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<T> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...CLIENT, ...headers },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** nginx in the foreground with a configuration of its own; nothing of the system's is read. */
async function serveWithNginx(
  program: string,
  root: string,
): Promise<{ url: string; stop: () => void }> {
  const folder = await mkdtemp(join(tmpdir(), "croft-nginx-"));
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  await writeFile(
    join(folder, "nginx.conf"),
    `daemon off; user root; pid ${folder}/pid; error_log ${folder}/error.log; worker_processes 1;
     events { worker_connections 256; }
     http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000; default_type application/octet-stream;
            server { listen 127.0.0.1:${port}; root ${root}; } }`,
  );
  const child = spawn(program, ["-p", folder, "-c", join(folder, "nginx.conf")], {
    stdio: "ignore",
  });
  const url = `http://127.0.0.1:${port}`;
  for (let i = 0; i < 50; i += 1) {
    if (
      await fetch(url).then(
        () => true,
        () => false,
      )
    )
      break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { url, stop: () => child.kill("SIGTERM") };
}
