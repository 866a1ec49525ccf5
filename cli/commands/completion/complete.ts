import { startProcess } from "../../../storage/start-process.ts";
import { type CliContext, createContext } from "../../context.ts";
import { noFlags } from "../../flags.ts";
import { wholeList } from "../../output/pages.ts";
import { sanitizeLine } from "../../output/sanitize.ts";
import { unpagedList } from "../../output/spec.ts";
import { neverStopping } from "../../report.ts";
import { commandDetails } from "../../tree/command.ts";
import type { CompletionKind, Entry, ForgeValueKind, VaultValueKind } from "../../tree/entry.ts";
import { type Candidate, type Question, readQuestion } from "./question.ts";

/**
 * Prints what may end a line, for a completion script: lines of a word, a tab and a description, and a last line that begins
 * with a tab where names of local files may follow. Words and values of the home are printed at once. Values of the daemon are
 * left out when they are not available within `completion_ms` of the start of the process, without a daemon or a sign-in, or
 * when a prompt would be needed.
 */
export const complete = (commands: readonly Entry[]) =>
  commandDetails({
    args: { "[words...]": "the words of the line after croft, the last one as far as typed" },
    flags: { "--renew": "renew the session of the vault, for the next call" },
    output: unpagedList({ value: "string", description: "string" }),
    // It calls operations that read, to list values.
    writes: false,
    examples: [],
    async run(cli, { words, renew = false }) {
      if (renew) return renewSession(cli, words);
      const { candidates, takesFiles } = await findCandidates(cli, words, commands);
      if (!cli.output.isMachine)
        return cli.io.write(
          candidates
            .map(({ value, description }) => `${value}\t${sanitizeLine(description)}\n`)
            .join("") + (takesFiles ? FILES : ""),
        );
      await cli.output.list(wholeList(candidates), [
        { header: "value", cell: ({ value }) => value },
        { header: "description", cell: ({ description }) => description },
      ]);
    },
  });

/** The line for names of local files, which the shell adds. */
const FILES = "\tfiles\n";

/** Maximum number of values: a shell that would list more asks first. */
const VALUES_MAX = 100;

/** A shell prints values unchanged, one a line, and would take a value that begins with a dash for a flag. */
function isHarmless(value: string): boolean {
  return value !== "" && !value.startsWith("-") && sanitizeLine(value) === value;
}

async function findCandidates(
  cli: CliContext,
  words: readonly string[],
  commands: readonly Entry[],
): Promise<{ readonly candidates: readonly Candidate[]; readonly takesFiles: boolean }> {
  const question = await readQuestion(cli, words, commands).catch(() => undefined);
  if (question === undefined) return { candidates: [], takesFiles: false };
  const { kind, stem, typed, takesFiles } = question;
  const found =
    kind === undefined ? [] : await findValues(cli, { kind, question, words, commands });
  const values = found
    .filter(({ value }) => value.startsWith(typed) && isHarmless(value))
    .slice(0, VALUES_MAX);
  const candidates = [...question.words, ...values].map(({ value, description }) => ({
    value: stem + value,
    description,
  }));
  return { candidates, takesFiles };
}

interface ValueQuestion {
  readonly kind: CompletionKind;
  readonly question: Question;
  readonly words: readonly string[];
  readonly commands: readonly Entry[];
}

/** Finds values, some of which may not begin with the typed text. A failure is no value. */
async function findValues(
  cli: CliContext,
  { kind, question, words, commands }: ValueQuestion,
): Promise<readonly Candidate[]> {
  const quick = createQuickContext(cli, words);
  const values =
    kind === "profiles" || kind === "settings" || kind === "commands"
      ? localValues[kind](quick.context, commands)
      : findInTime(cli, quick, kind, question);
  return values.catch(() => []);
}

/**
 * Finds values of the daemon. After the time limit it returns none, and the process ends without waiting for running requests.
 */
async function findInTime(
  cli: CliContext,
  { context, signal, abort }: ReturnType<typeof createQuickContext>,
  kind: LiveKind,
  question: Question,
): Promise<readonly Candidate[]> {
  const { completionMs } = await context.config();
  const left = completionMs - cli.system.elapsed();
  if (left <= 0) return [];
  const isOver = cli.system.sleep(left, signal).then(
    () => undefined,
    () => undefined,
  );
  try {
    const found = await Promise.race([findLive(context, kind, question), isOver]);
    if (found === undefined) cli.markStuck();
    return found ?? [];
  } finally {
    abort();
  }
}

/** The context of the line that is being typed: its profile, its daemon, and a signal that ends its requests. */
function createQuickContext(cli: CliContext, words: readonly string[]) {
  const ending = new AbortController();
  const context = createContext(cli.system, { ...neverStopping, signal: ending.signal });
  // The last word is still being typed.
  const before = words.slice(0, -1);
  const flagValue = (flag: string) =>
    before.find((word) => word.startsWith(`${flag}=`))?.slice(flag.length + 1) ??
    (before.includes(flag) ? before[before.indexOf(flag) + 1] : undefined);
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

type LiveKind = ForgeValueKind | VaultValueKind;

async function findLive(
  cli: CliContext,
  kind: LiveKind,
  question: Question,
): Promise<readonly Candidate[]> {
  const { forgeValues } = await import("./forge-values.ts");
  const isForgeKind = (one: LiveKind): one is ForgeValueKind => Object.hasOwn(forgeValues, one);
  const header = await cli.client.authorizer.presentHeader(isForgeKind(kind) ? "forge" : "vault");
  if (header === undefined) {
    renewInBackground(cli);
    return [];
  }
  const call: CliContext["client"]["call"] = (operation, input, options) =>
    cli.client.call(operation, input, { ...options, authorization: header });
  // Inherits instead of copying, because members of a context are created on first use.
  const signed = Object.create(cli, { client: { value: { ...cli.client, call } } }) as CliContext;
  if (isForgeKind(kind)) return forgeValues[kind](signed, question);
  const { vaultValues } = await import("./vault-values.ts");
  return vaultValues[kind](signed, question);
}

/** Values for which no daemon is needed. */
const localValues: Readonly<
  Record<
    Exclude<CompletionKind, LiveKind>,
    (cli: CliContext, commands: readonly Entry[]) => Promise<readonly Candidate[]>
  >
> = {
  async profiles(cli) {
    const { profiles } = await cli.profiles.read();
    return Object.entries(profiles).map(([value, { url }]) => ({ value, description: url ?? "" }));
  },
  async settings() {
    const { listSettings, toKey } = await import("../../../daemon/settings/settings.ts");
    return listSettings().map(([name, { help }]) => ({ value: toKey(name), description: help }));
  },
  commands: async (_cli, commands) =>
    commands
      .filter((entry) => entry.kind === "noun" || !entry.hidden)
      .map(({ name, summary }) => ({ value: name, description: summary })),
};

/** Renews the session of the vault. A failure leaves it as it is. */
async function renewSession(cli: CliContext, words: readonly string[]): Promise<void> {
  const { authorizer } = createQuickContext(cli, words).context.client;
  await authorizer.vaultSession.accessToken().catch(() => undefined);
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
