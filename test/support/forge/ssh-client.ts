import { execFile, spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The tests send random bytes, which take longer to compress than to send. */
const UNCOMPRESSED = {
  GIT_CONFIG_COUNT: "1",
  GIT_CONFIG_KEY_0: "core.compression",
  GIT_CONFIG_VALUE_0: "0",
};

/** The end of a program. */
export interface SshEnd {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** OpenSSH's client and git over it, with keys of their own in a temporary folder. */
export interface SshClient extends AsyncDisposable {
  readonly folder: string;
  /** Makes a key and returns its public line. */
  newKey(name: string, type?: "ed25519" | "ecdsa" | "rsa"): Promise<string>;
  /** Runs `ssh` with a key. */
  ssh(name: string, words: readonly string[]): Promise<SshEnd>;
  /** Starts `ssh` with a key, for the caller to end. */
  start(name: string, words: readonly string[]): ChildProcess;
  /** Runs git in the folder, with a key. */
  git(name: string, ...words: readonly string[]): Promise<SshEnd>;
}

/** @param more further options of `ssh`, such as `RekeyLimit=2M` */
export async function createSshClient(
  port: () => number,
  more: readonly string[] = [],
): Promise<SshClient> {
  const folder = await mkdtemp(join(tmpdir(), "croft-ssh-"));
  const options = (name: string) => [
    "-F",
    "none",
    "-p",
    String(port()),
    "-i",
    join(folder, name),
    ...["IdentitiesOnly=yes", "IdentityAgent=none", "BatchMode=yes", ...more].flatMap((each) => [
      "-o",
      each,
    ]),
    ...[
      "StrictHostKeyChecking=accept-new",
      `UserKnownHostsFile=${join(folder, "known_hosts")}`,
    ].flatMap((each) => ["-o", each]),
  ];
  const env = (name: string) => ({
    PATH: process.env["PATH"] ?? "",
    HOME: folder,
    GIT_SSH_COMMAND: ["ssh", ...options(name)].join(" "),
    GIT_CONFIG_NOSYSTEM: "1",
    ...UNCOMPRESSED,
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: `${name}@example.org`,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: `${name}@example.org`,
  });
  const end = (file: string, words: readonly string[], name: string): Promise<SshEnd> => {
    const options = { cwd: folder, env: env(name), maxBuffer: 64 * 1024 * 1024 };
    const running = run(file, [...words], options);
    running.child.stdin?.end();
    return running.then(
      ({ stdout, stderr }) => ({ exitCode: 0, stdout, stderr }),
      (error: { code?: number; stdout?: string; stderr?: string }) => ({
        exitCode: error.code ?? -1,
        stdout: error.stdout ?? "",
        stderr: error.stderr ?? "",
      }),
    );
  };
  return {
    folder,
    async newKey(name, type = "ed25519") {
      const bits = type === "rsa" ? ["-b", "3072"] : [];
      await run("ssh-keygen", ["-q", "-t", type, ...bits, "-N", "", "-f", join(folder, name)]);
      return (await readFile(join(folder, `${name}.pub`), "utf8")).trim();
    },
    ssh: (name, words) => end("ssh", [...options(name), ...words], name),
    start: (name, words) =>
      spawn("ssh", [...options(name), ...words], { cwd: folder, env: env(name) }),
    git: (name, ...words) => end("git", words, name),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
