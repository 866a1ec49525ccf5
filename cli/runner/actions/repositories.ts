import { join } from "node:path";
import { appendJobFile, createJobFile, createJobFolder } from "../files/job-files.ts";
import { removeFolder } from "../files/job-folders.ts";
import type { JobProcesses } from "../places/job-processes.ts";
import type { JobLog } from "../job/job-log.ts";
import { StepError } from "../job/step-error.ts";
import type { Sleep } from "../retry.ts";

/** The commit and paths of a repository that are fetched. */
export interface FetchRequest {
  /** OWNER/NAME on the runner's forge. */
  readonly repository: string;
  /** A commit, a branch, a tag or a full ref; undefined for the default branch. */
  readonly ref: string | undefined;
  /** The commit that a ref had when the run began: it is fetched instead of the ref's current commit. */
  readonly commit?: string | undefined;
  /** Commits of history; 0 for all, with every branch and tag. */
  readonly depth: number;
  /** Empty without a token. */
  readonly token: string;
  /** Whether the token stays in the configuration of the repository, for later git commands of the job. */
  readonly keepToken: boolean;
  /** Ends the fetch. */
  readonly signal: AbortSignal;
}

/** A repository that was fetched. */
export interface Fetched {
  readonly commit: string;
  /** The full ref; empty for a commit. */
  readonly ref: string;
  /** The paths of all files. */
  readonly files: readonly string[];
}

/** Fetches repositories of the runner's forge by the system's git, over HTTP. */
export type Repositories = ReturnType<typeof createRepositories>;

export interface RepositoriesDeps {
  /** The forge's address without a trailing slash. */
  readonly url: string;
  /** Certificates to trust instead of the usual ones, in PEM. */
  readonly certificates: string | undefined;
  readonly processes: JobProcesses;
  /** A folder of the job where fetched actions are kept, and one for checkouts. Containers reach neither. */
  readonly actionsFolder: string;
  readonly privateFolder: string;
  readonly searchPath: string;
  readonly log: JobLog;
  readonly sleep: Sleep;
  readonly signal: AbortSignal;
  /** The token of the job, or empty. */
  readonly token: string;
}

/** The folder around it is closed to others. Users of a container that are not root read the copy. */
const CHECKOUT_MODE = 0o755;
/** Characters of the list of all files of a commit. */
const LIST_CHARACTERS_MAX = 64 * 1024 * 1024;
const COMMIT = /^[0-9a-f]{40}$|^[0-9a-f]{64}$/;
const NAME = /^[\w.-]+\/[\w.-]+$/;
/** Waits before further attempts of a fetch: the forge may be restarting. */
const RETRY_MS = [1_000, 5_000, 15_000] as const;
/** Git's messages that are kept, the last ones. */
const MESSAGES_MAX = 20;
/** What git says when the forge lacks a ref or a repository, or does not show it to the token. Any other failure may pass. */
const ABSENT =
  /couldn't find remote ref|not our ref|unadvertised object|' not found$|could not read Username|Authentication failed|returned error: 40[134]/m;
/** Characters of a ref that cannot be an option or leave the ref. */
const REF = /^[^\s~^:?*[\\-][^\s~^:?*[\\]*$/;

export function createRepositories(deps: RepositoriesDeps) {
  const actions = new Map<string, Promise<string | undefined>>();
  const certificateFile = join(deps.privateFolder, "certificates.pem");
  let certificates: Promise<void> | undefined;
  return {
    fetch: fetchInto,
    /**
     * Returns the folder of an action's repository; undefined when the forge lacks the repository or the ref.
     * @throws StepError when the forge does not answer
     */
    fetchAction(repository: string, ref: string): Promise<string | undefined> {
      const key = `${repository.toLowerCase()}@${ref}`;
      const known = actions.get(key) ?? fetchOne(repository, ref, `action-${actions.size}`);
      actions.set(key, known);
      return known;
    },
    /** Returns a new empty folder that steps in containers cannot reach. */
    async newPrivateFolder(name: string): Promise<string> {
      const folder = join(deps.privateFolder, name);
      await createJobFolder(folder, CHECKOUT_MODE);
      return folder;
    },
  };

  async function fetchOne(
    repository: string,
    ref: string,
    name: string,
  ): Promise<string | undefined> {
    const folder = join(deps.actionsFolder, name);
    await createJobFolder(folder, CHECKOUT_MODE);
    const request = {
      repository,
      ref,
      depth: 1,
      token: deps.token,
      keepToken: false,
      signal: deps.signal,
    };
    const fetched = await fetchInto(folder, request);
    if (fetched !== undefined) await removeFolder(join(folder, ".git"));
    return fetched && folder;
  }

  /**
   * Fetches into an empty folder and checks out; undefined when the repository or the ref is missing.
   * @throws StepError when the forge does not answer
   */
  async function fetchInto(folder: string, request: FetchRequest): Promise<Fetched | undefined> {
    const { repository, ref, commit, depth, token, keepToken, signal } = request;
    const isNamed =
      NAME.test(repository) && !repository.split("/").some((part) => /^\.+$/.test(part));
    if (!isNamed || (ref !== undefined && !REF.test(ref))) return undefined;
    const authorization = Buffer.from(`x-access-token:${token}`).toString("base64");
    const header = token === "" ? undefined : `AUTHORIZATION: basic ${authorization}`;
    const scope = `http.${deps.url}/.extraHeader`;
    const env = await toEnvironment(header === undefined ? [] : [[scope, header]]);
    const git = (...words: string[]) => run(folder, env, words, signal);
    assertGit(await git("init", "--quiet", "--initial-branch=main", "."));
    assertGit(await git("remote", "add", "origin", `${deps.url}/${repository}.git`));
    const depthFlag = depth > 0 ? [`--depth=${depth}`] : [];
    const everything =
      depth > 0 ? [] : ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"];
    for (const candidate of toCandidates(ref, commit)) {
      const { source, target, checkout } = candidate;
      const words = ["fetch", "--quiet", "--no-tags", "--prune", "--no-recurse-submodules"];
      const spec = target === "" ? source : `+${source}:${target}`;
      const fetch = [...words, ...depthFlag, "origin", ...everything, spec];
      const isThere = await tryFetch(repository, signal, (onLine) =>
        run(folder, env, fetch, signal, onLine),
      );
      if (!isThere) continue;
      const words2 = target === "" ? ["--detach", "FETCH_HEAD"] : checkout;
      assertGit(
        await git("-c", "advice.detachedHead=false", "checkout", "--quiet", "--force", ...words2),
      );
      if (keepToken && header !== undefined)
        // In a configuration file, because arguments are visible in the list of processes.
        await appendConfig(folder, deps.url, header);
      const [commit = ""] = await read(folder, env, ["rev-parse", "HEAD"], signal);
      // Names may have line ends.
      const list = (await read(folder, env, ["ls-files", "-z"], signal)).join("\n");
      const files = list.split("\0").filter((each) => each !== "");
      return { commit, ref: candidate.ref, files };
    }
    return undefined;
  }

  /** Returns whether the forge has what `fetch` asks for. Repeats a fetch that failed for another reason. */
  async function tryFetch(
    repository: string,
    signal: AbortSignal,
    fetch: (onLine: (line: string) => void) => Promise<number>,
  ): Promise<boolean> {
    for (let attempt = 0; ; attempt += 1) {
      let messages: readonly string[] = [];
      const code = await fetch((line) => {
        messages = [...messages, line].slice(-MESSAGES_MAX);
      });
      if (code === 0) return true;
      if (ABSENT.test(messages.join("\n"))) return false;
      const reason = messages.findLast((line) => line !== "") ?? `git ended with ${code}`;
      const pause = RETRY_MS[attempt];
      if (pause === undefined || signal.aborted)
        throw new StepError(`cannot fetch ${repository}: ${reason}`);
      deps.log.write(`Fetching ${repository} again in ${pause / 1_000} s: ${reason}`);
      await deps.sleep(pause, signal).catch(() => undefined);
    }
  }

  /** Runs git; its lines are dropped unless `onLine` takes them. */
  function run(
    cwd: string,
    env: Readonly<Record<string, string>>,
    words: readonly string[],
    signal: AbortSignal,
    onLine: (line: string) => unknown = () => undefined,
  ): Promise<number> {
    const sink = {
      lineCharacters: () => LIST_CHARACTERS_MAX,
      line: onLine,
      isFull: () => false,
      drained: () => Promise.resolve(),
    };
    return deps.processes.run({ argv: ["git", ...words], env, cwd, sink, signal });
  }

  async function read(
    folder: string,
    env: Readonly<Record<string, string>>,
    words: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const lines: string[] = [];
    assertGit(await run(folder, env, words, signal, (line) => lines.push(line)));
    return lines;
  }

  /** The user's own configuration of git does not count: it may name credentials and hooks. */
  async function toEnvironment(
    config: readonly (readonly [string, string])[],
  ): Promise<Record<string, string>> {
    const all = [
      ...config,
      ["http.followRedirects", "false"],
      ["protocol.allow", "never"],
      ["protocol.http.allow", "always"],
      ["protocol.https.allow", "always"],
      ["core.hooksPath", "/dev/null"],
      ["gc.auto", "0"],
    ] as const;
    const env: Record<string, string> = {
      PATH: deps.searchPath,
      HOME: deps.privateFolder,
      LANG: "C",
      GIT_TERMINAL_PROMPT: "0",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_COUNT: String(all.length),
    };
    for (const [index, [key, value]] of all.entries()) {
      env[`GIT_CONFIG_KEY_${index}`] = key;
      env[`GIT_CONFIG_VALUE_${index}`] = value;
    }
    if (deps.certificates !== undefined) {
      certificates ??= createJobFile(certificateFile, deps.certificates);
      await certificates;
      env["GIT_SSL_CAINFO"] = certificateFile;
    }
    return env;
  }
}

/** Returns the possible meanings of a ref, each with the revision to check out. */
function toCandidates(ref: string | undefined, commit: string | undefined) {
  const of = (full: string, source = full) => {
    const [, kind, name = ""] = /^refs\/(heads|tags)\/(.+)$/s.exec(full) ?? [];
    const remote = `refs/remotes/origin/${name}`;
    if (kind === "heads")
      return { ref: full, source, target: remote, checkout: ["-B", name, remote] };
    if (kind === "tags") return { ref: full, source, target: full, checkout: ["--detach", full] };
    return { ref: full, source, target: "", checkout: [] };
  };
  if (ref === undefined) return [of("HEAD")];
  if (ref.startsWith("refs/")) return [of(ref, commit)];
  if (COMMIT.test(ref)) return [{ ...of("", ref), ref: "" }];
  return [of(`refs/heads/${ref}`), of(`refs/tags/${ref}`)];
}

async function appendConfig(folder: string, url: string, header: string): Promise<void> {
  const text = `[http "${url}/"]\n\textraheader = ${header}\n`;
  await appendJobFile(folder, join(folder, ".git", "config"), text);
}

function assertGit(code: number): void {
  if (code !== 0) throw new Error(`git ended with ${code}`);
}
