import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** A running process of Gitea's runner program, in a folder of its own. */
export interface ActRunner extends AsyncDisposable {
  /** Everything that the program has logged. */
  readonly output: () => string;
}

/** Polls and reports often, so that a test does not wait for intervals that suit a real network. */
const config = (folder: string) => `

runner:
  file: ${folder}/.runner
  capacity: 4
  fetch_interval: 200ms
  fetch_interval_max: 500ms
  log_report_interval: 300ms
  log_report_max_latency: 200ms
  state_report_interval: 300ms
cache:
  enabled: false
host:
  workdir_parent: ${folder}/work
`;

/** Registers Gitea's runner program for jobs on the host and starts it. `await using` stops it and removes its folder. */
export async function startActRunner(
  program: string,
  options: { readonly url: string; readonly token: string; readonly labels: string },
): Promise<ActRunner> {
  const folder = await mkdtemp(join(tmpdir(), "croft-act-runner-"));
  const configFile = join(folder, "config.yaml");
  await writeFile(configFile, config(folder));
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder, GIT_TERMINAL_PROMPT: "0" };
  const { url, token, labels } = options;
  const named = ["--instance", url, "--token", token, "--labels", labels, "--name", "real"];
  await promisify(execFile)(
    program,
    ["--config", configFile, "register", "--no-interactive", ...named],
    { cwd: folder, env },
  );
  const child = spawn(program, ["--config", configFile, "daemon"], { cwd: folder, env });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  return {
    output: () => output,
    [Symbol.asyncDispose]: async () => {
      await end(child);
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "close");
}
