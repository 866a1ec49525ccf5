import { spawn, type ChildProcess } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { createInterface } from "node:readline";

/** A way to run croft: the program and the arguments that come before croft's own. */
export type CroftCommand = readonly [string, ...string[]];

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CroftEnvironment {
  readonly home: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Returns how many threads the pool of libuv has in a process of Linux; undefined on other systems. */
export async function countPoolThreads(pid: number): Promise<number | undefined> {
  if (process.platform !== "linux") return undefined;
  const folder = `/proc/${pid}/task`;
  const names = (await readdir(folder)).map((id) => readFile(`${folder}/${id}/comm`, "utf8"));
  return (await Promise.all(names)).filter((name) => name === "libuv-worker\n").length;
}

/** Returns the setting with which glibc gives large blocks of a process of Linux back; undefined on other systems. */
export async function findBlockSetting(pid: number): Promise<string | undefined> {
  if (process.platform !== "linux") return undefined;
  const variables = (await readFile(`/proc/${pid}/environ`, "utf8")).split("\0");
  return variables.find((variable) => variable.startsWith("MALLOC_")) ?? "none";
}

/** Runs croft as a process of its own and waits for its end. */
export async function runCroft(
  command: CroftCommand,
  args: readonly string[],
  around: CroftEnvironment,
  stdin = "",
): Promise<Finished> {
  const child = startCroft(command, args, around);
  const output = { stdout: "", stderr: "" };
  child.stdout?.on("data", (chunk: Buffer) => (output.stdout += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (output.stderr += chunk.toString()));
  child.stdin?.on("error", () => undefined); // It may have refused before it read its input.
  child.stdin?.end(stdin);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { code, ...output };
}

/** Runs croft, expects success, and parses its one JSON document. */
export async function croftJson<T>(
  command: CroftCommand,
  args: readonly string[],
  around: CroftEnvironment,
  stdin = "",
): Promise<T> {
  const { code, stdout, stderr } = await runCroft(command, [...args, "--json"], around, stdin);
  if (code !== 0)
    throw new Error(`croft ${args.join(" ")} ended with ${code}: ${stderr || stdout}`);
  return JSON.parse(stdout) as T;
}

/** A daemon in a process of its own. */
export interface ServedCroft extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  readonly child: ChildProcess;
  /** Everything on standard error until now. */
  readonly stderr: () => string;
  /** Sends `signal` and waits for the end. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts `croft serve --json` on a free port, or on `port`, and waits until it says that it is ready. */
export async function serveCroft(
  command: CroftCommand,
  { port = 0, ...around }: CroftEnvironment & { readonly port?: number },
): Promise<ServedCroft> {
  const child = startCroft(command, ["serve", "--port", String(port), "--json"], around);
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdin?.end();
  const ended = new Promise<number | null>((resolve) =>
    child.once("close", (code) => resolve(code)),
  );
  const ready = await Promise.race([
    firstLine(child),
    ended.then((code) => Promise.reject(new Error(`croft serve ended with ${code}: ${stderr}`))),
  ]);
  const { urls, pid } = JSON.parse(ready) as { urls: string[]; pid: number };
  const end = async (signal: NodeJS.Signals) => {
    process.kill(pid, signal);
    return ended;
  };
  return {
    url: urls[0] ?? "",
    pid,
    child,
    stderr: () => stderr,
    end,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) await end("SIGKILL");
    },
  };
}

/** Starts croft as a process of its own, with pipes for its streams. */
export function startCroft(
  command: CroftCommand,
  args: readonly string[],
  around: CroftEnvironment,
): ChildProcess {
  const [program, ...before] = command;
  return spawn(program, [...before, ...args], {
    cwd: around.cwd ?? around.home,
    env: {
      PATH: process.env["PATH"],
      HOME: around.home,
      CROFT_HOME: around.home,
      CROFT_KEY_SOURCE: "file",
      CROFT_CREDENTIAL_STORE: "file",
      CROFT_BREACH_URL: "off",
      CROFT_LOG_FORMAT: "json",
      ...around.env,
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    if (child.stdout === null) return;
    createInterface(child.stdout).once("line", resolve);
  });
}
