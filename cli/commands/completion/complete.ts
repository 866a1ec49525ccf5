import { startProcess } from "../../../storage/start-process.ts";
import { type CliContext, createContext } from "../../context.ts";
import { noFlags } from "../../flags.ts";
import { wholeList } from "../../output/pages.ts";
import { sanitizeLine } from "../../output/sanitize.ts";
import { unpagedList } from "../../output/spec.ts";
import { neverStopping } from "../../report.ts";
import { commandDetails } from "../../tree/command.ts";
import type { CompletionKind, Entry, ForgeValueKind, VaultValueKind } from "../../tree/entry.ts";
import { type Candidate, forgeOperations, forgeValues, type ValueFinder } from "./forge-values.ts";
import { type Question, readQuestion } from "./question.ts";
import { vaultOperations, vaultValues } from "./vault-values.ts";

/**
 * Prints the values that may end a line, for a completion script. Prints nothing and exits with 0 when they are not
 * available within `completion_ms` of the start of the process, without a daemon or a sign-in, or when a prompt would be
 * needed.
 */
export const complete = (commands: readonly Entry[]) =>
  commandDetails({
    args: { "[words...]": "the words of the line after croft, the last one as far as typed" },
    flags: { "--renew": "renew the session of the vault, for the next call" },
    calls: [...forgeOperations, ...vaultOperations],
    output: unpagedList({ value: "string", description: "string" }),
    examples: [],
    async run(cli, { words, renew = false }) {
      const candidates = await findInTime(cli, { words, renew, commands }).catch(() => []);
      if (!cli.output.isMachine)
        return cli.io.write(
          candidates
            .map(({ value, description }) => `${value}\t${sanitizeLine(description)}\n`)
            .join(""),
        );
      await cli.output.list(wholeList(candidates), [
        { header: "value", cell: ({ value }) => value },
        { header: "description", cell: ({ description }) => description },
      ]);
    },
  });

/** Maximum number of values: a shell that would list more asks first. */
const VALUES_MAX = 100;

/** A shell prints values unchanged, one a line, and would take a value that begins with a dash for a flag. */
function isHarmless(value: string): boolean {
  return value !== "" && !value.startsWith("-") && sanitizeLine(value) === value;
}

interface Typed {
  /** The words of the line after `croft`; the last one is being typed. */
  readonly words: readonly string[];
  /** Renew the session of the vault instead. */
  readonly renew: boolean;
  readonly commands: readonly Entry[];
}

/**
 * Finds candidates. After the time limit it returns none, and the process ends without waiting for running requests.
 */
async function findInTime(
  cli: CliContext,
  { words, renew, commands }: Typed,
): Promise<readonly Candidate[]> {
  const quick = createQuickContext(cli, words);
  if (renew) return quick.context.client.authorizer.vaultSession.accessToken().then(() => []);
  const { completionMs } = await quick.context.config();
  const left = completionMs - cli.system.elapsed();
  if (left <= 0) return [];
  const isOver = cli.system.sleep(left, quick.signal).then(
    () => undefined,
    () => undefined,
  );
  try {
    const found = await Promise.race([find(quick.context, words, commands), isOver]);
    if (found === undefined) cli.markStuck();
    return found ?? [];
  } finally {
    quick.abort();
  }
}

/** The context of the line that is being typed: its profile, its daemon, and a signal that ends its requests. */
function createQuickContext(cli: CliContext, words: readonly string[]) {
  const ending = new AbortController();
  const context = createContext(cli.system, { ...neverStopping, signal: ending.signal });
  // The last word is still being typed.
  const before = words.slice(0, -1);
  const flagValue = (flag: string) =>
    before.includes(flag) ? before[before.indexOf(flag) + 1] : undefined;
  context.useFlags({
    ...noFlags,
    input: false,
    profile: flagValue("--profile") ?? cli.flags.profile,
    url: flagValue("--url") ?? cli.flags.url,
    home: flagValue("--home") ?? cli.flags.home,
    config: flagValue("--config") ?? cli.flags.config,
  });
  return { context, signal: ending.signal, abort: () => ending.abort() };
}

async function find(
  cli: CliContext,
  words: readonly string[],
  commands: readonly Entry[],
): Promise<readonly Candidate[]> {
  const question = await readQuestion(cli, words, commands);
  if (question === undefined) return [];
  return (await findAll(cli, question, commands))
    .filter(({ value }) => value.startsWith(question.typed) && isHarmless(value))
    .slice(0, VALUES_MAX);
}

/** Finds candidates, some of which may not begin with the typed text. */
async function findAll(
  cli: CliContext,
  question: Question,
  commands: readonly Entry[],
): Promise<readonly Candidate[]> {
  const { completion: kind } = question;
  if (typeof kind !== "string") return kind.map((value) => ({ value, description: "" }));
  if (kind === "commands") return listTopWords(commands);
  if (kind === "profiles" || kind === "settings") return localValues[kind](cli, question);
  const header = await cli.client.authorizer.presentHeader(isForgeKind(kind) ? "forge" : "vault");
  if (header === undefined) {
    renewInBackground(cli);
    return [];
  }
  const call: CliContext["client"]["call"] = (operation, input, options) =>
    cli.client.call(operation, input, { ...options, authorization: header });
  // Inherits instead of copying, because members of a context are created on first use.
  const signed = Object.create(cli, { client: { value: { ...cli.client, call } } }) as CliContext;
  return isForgeKind(kind)
    ? forgeValues[kind](signed, question)
    : vaultValues[kind](signed, question);
}

type LiveKind = ForgeValueKind | VaultValueKind;

function isForgeKind(kind: LiveKind): kind is ForgeValueKind {
  return Object.hasOwn(forgeValues, kind);
}

/** Values for which no daemon is needed. */
const localValues: Readonly<Record<Exclude<CompletionKind, LiveKind | "commands">, ValueFinder>> = {
  async profiles(cli) {
    const { profiles } = await cli.profiles.read();
    return Object.entries(profiles).map(([value, { url }]) => ({ value, description: url ?? "" }));
  },
  async settings() {
    const { listSettings, toKey } = await import("../../../daemon/settings/settings.ts");
    return listSettings().map(([name, { help }]) => ({ value: toKey(name), description: help }));
  },
};

function listTopWords(commands: readonly Entry[]): readonly Candidate[] {
  return commands
    .filter((entry) => entry.kind === "noun" || !entry.hidden)
    .map(({ name, summary }) => ({ value: name, description: summary }));
}

/**
 * Renews the session in a separate process, so that the next call has values. A refresh token works once: a process
 * that ended before it stored the next one would sign the person out.
 */
function renewInBackground({ system, flags }: CliContext): void {
  const [program, ...before] = system.program;
  const chosen = [
    ["--profile", flags.profile],
    ["--url", flags.url],
    ["--home", flags.home],
    ["--config", flags.config],
  ].flatMap(([name = "", value]) => (value === undefined ? [] : [name, value]));
  try {
    startProcess(program, [...before, "__complete", "--renew", ...chosen], {
      env: system.env,
      detached: true,
      stdio: ["ignore", "ignore", "ignore"],
    }).child.unref();
  } catch {
    // A renewal that cannot start leaves the session as it is.
  }
}
