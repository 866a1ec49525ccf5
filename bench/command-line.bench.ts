import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer, connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { built, makeHome } from "./daemon.ts";
import { atMost, findProgram, median, report } from "./measure.ts";

// Whole processes, start to end: the single executable against Node's own floor, and against the GitHub CLI where it is
// installed, which sends the same request to the same daemon.

const RUNS = 15;
const LIST_AIM = 2.5;
const PEER_LIST_AIM = 1.3;
/** gh speaks plain http to `github.localhost` only, of which it calls this name. */
const GH_HOST = "api.github.localhost";

const run = promisify(execFile);
const executable = join(import.meta.dirname, "../dist/croft");
const [node, launcher = ""] = built;
await using home = await makeHome();
const daemon = await home.serve({ CROFT_ALLOWED_HOSTS: GH_HOST });
const env = {
  ...process.env,
  CROFT_HOME: home.home,
  CROFT_URL: daemon.url,
  CROFT_CREDENTIAL_STORE: "file",
};
const list = ["admin", "user", "list", "--json"];
const commands: [string, string, string[]][] = [
  ["node -e 0", node, ["-e", "0"]],
  ["npm package: croft --version", node, [launcher, "--version"]],
  ["npm package: croft admin user list --json", node, [launcher, ...list]],
];
if (existsSync(executable))
  commands.push(
    ["executable: croft --version", executable, ["--version"]],
    ["executable: croft admin user list --json", executable, list],
  );
const gh = await findProgram("gh");
await using socket = await forwardToDaemon(join(home.home, "gh.sock"));
if (gh !== undefined) {
  // Its requests go through the socket that its configuration names.
  Object.assign(env, {
    GH_CONFIG_DIR: join(home.home, "gh"),
    GH_HOST: "github.localhost",
    GH_TOKEN: home.token,
    GH_ENTERPRISE_TOKEN: home.token,
    GH_NO_UPDATE_NOTIFIER: "1",
  });
  await run(gh, ["config", "set", "http_unix_socket", socket.path], { env });
  commands.push(
    ["gh --version", gh, ["--version"]],
    ["gh api /api/v1/admin/users", gh, ["api", "/api/v1/admin/users"]],
  );
}
const times = new Map<string, number[]>(commands.map(([name]) => [name, []]));
for (let i = 0; i <= RUNS; i += 1)
  for (const [name, program, args] of commands) {
    const startedAt = performance.now();
    await run(program, args, { env });
    // The first round fills caches and does not count.
    if (i > 0) times.get(name)?.push(performance.now() - startedAt);
  }
const of = (name: string) => median(times.get(name) ?? []);
report(
  "Command line, whole process, median of 15",
  "A command is run by hand and in loops, so its start counts: hardly more than Node's own, and no slower than gh.",
  [
    ...commands.map(([name]) => ({ label: name, value: `${of(name).toFixed(0)} ms` })),
    ...(existsSync(executable)
      ? [
          atMost(
            "executable: list against node -e 0",
            of("executable: croft admin user list --json") / of("node -e 0"),
            LIST_AIM,
            "",
          ),
        ]
      : [{ label: "executable", value: "skipped, run npm run build first" }]),
    ...(existsSync(executable) && gh !== undefined
      ? [
          atMost(
            "executable: --version against gh",
            of("executable: croft --version") / of("gh --version"),
            1,
            "",
          ),
          atMost(
            "executable: list against gh",
            of("executable: croft admin user list --json") / of("gh api /api/v1/admin/users"),
            PEER_LIST_AIM,
            "",
          ),
        ]
      : [{ label: "comparison with gh", value: "skipped, gh or dist/croft is missing" }]),
  ],
);
await daemon.end("SIGTERM");

/** Listens on a Unix socket and forwards its connections to the daemon. */
async function forwardToDaemon(path: string): Promise<AsyncDisposable & { readonly path: string }> {
  const { hostname, port } = new URL(daemon.url);
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    client.pipe(upstream).pipe(client);
    // Either side may end first; the other one is closed with it.
    client.on("error", () => upstream.destroy());
    upstream.on("error", () => client.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(path, resolve);
  });
  return {
    path,
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
