import type { CliContext } from "../context.ts";
import { CliError, DryRun, exitCodeOf, toCliError, toErrorLine } from "../errors.ts";
import type { CliErrorCode } from "../exit-codes.ts";
import type { Column } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { type FieldType, toObjectSchema } from "../output/spec.ts";

/** The error of one task, with the members of the error line. */
interface BatchError {
  readonly code: CliErrorCode;
  readonly message: string;
}

/** The fields that every result of a batch has. */
export const resultFields: Readonly<Record<string, FieldType>> = {
  item: "string",
  error: {
    anyOf: [toObjectSchema({ code: "string", message: "string" }), { type: "null" }],
  },
};

/** The outcome of one task. */
export interface Outcome<T> {
  readonly item: string;
  readonly value: T | undefined;
  readonly failure: CliError | undefined;
}

/** Failures after which trying the others makes no sense. */
const hopeless: ReadonlySet<CliErrorCode> = new Set([
  "interrupted",
  "terminated",
  "closed_pipe",
  "not_signed_in",
  "session_revoked",
  "daemon_unreachable",
]);

/** One task of a batch. */
export interface Task<T> {
  /** Its name in the results. */
  readonly item: string;
  run(): Promise<T>;
}

/** A task whose outcome is known before it begins. */
export function failedTask(item: string, error: unknown): Task<never> {
  return {
    item,
    run: async () => {
      throw error;
    },
  };
}

/**
 * Runs tasks sequentially, or `atOnce` concurrently, and continues after a failure, unless the others would fail as
 * well. The outcomes are in the order of the items.
 */
export async function runBatch<T extends object>(
  items: readonly string[],
  work: (item: string) => Promise<T>,
  atOnce = 1,
): Promise<readonly Outcome<T>[]> {
  const outcomes = await runTasks(
    items.map((item) => ({ item, run: () => work(item) })),
    atOnce,
  );
  const [only, ...others] = outcomes;
  if (only?.failure !== undefined && others.length === 0) throw only.failure;
  return outcomes;
}

/**
 * Runs tasks that are found while earlier ones run. After a failure that would affect the others too, starts no further
 * task, and throws the failure when the running ones have ended.
 */
export async function runTasks<T extends object>(
  tasks: Iterable<Task<T>> | AsyncIterable<Task<T>>,
  atOnce: number,
): Promise<readonly Outcome<T>[]> {
  const done: (Outcome<T> | DryRun)[] = [];
  const source = each(tasks);
  let count = 0;
  const stops: unknown[] = [];
  const worker = async () => {
    while (stops.length === 0) {
      const { value: task, done: isEnd } = await source.next();
      if (isEnd === true || stops.length > 0) return;
      const index = count++;
      const outcome = await doOne(task);
      if (outcome instanceof DryRun || outcome.failure === undefined) done[index] = outcome;
      else if (hopeless.has(outcome.failure.code)) stops.push(outcome.failure);
      else done[index] = outcome;
    }
  };
  const workers = Array.from({ length: atOnce }, async () => {
    try {
      await worker();
    } catch (error) {
      stops.push(error);
    }
  });
  await Promise.all(workers);
  if (stops.length > 0) throw stops[0];
  const wouldBe = done.filter((one) => one instanceof DryRun);
  const [only, ...others] = wouldBe;
  if (only !== undefined && others.length === 0) throw only;
  if (only !== undefined) {
    const downloads = wouldBe.flatMap(({ would }) => would["downloads"] ?? []);
    const requests = wouldBe.flatMap(({ would }) => would["request"] ?? []);
    throw new DryRun(downloads.length > 0 ? { downloads } : { requests });
  }
  return done.filter((one): one is Outcome<T> => !(one instanceof DryRun));
}

async function* each<T>(
  tasks: Iterable<Task<T>> | AsyncIterable<Task<T>>,
): AsyncGenerator<Task<T>, undefined> {
  yield* tasks;
}

async function doOne<T>({ item, run }: Task<T>): Promise<Outcome<T> | DryRun> {
  try {
    return { item, value: await run(), failure: undefined };
  } catch (error) {
    return error instanceof DryRun ? error : { item, value: undefined, failure: toCliError(error) };
  }
}

/**
 * Prints the results of a batch, or those that `isShown` selects. If some failed, the results name them and the exit
 * code is that of `partial`.
 * @throws CliError when all failed
 */
export async function finishBatch<T extends object>(
  cli: CliContext,
  outcomes: readonly Outcome<T>[],
  verb: string,
  columns: readonly Column<
    { readonly item: string; readonly error: BatchError | null } & Partial<T>
  >[],
  isShown: (outcome: Outcome<T>) => boolean = () => true,
): Promise<void> {
  const failures = outcomes.flatMap(({ item, failure }) =>
    failure === undefined ? [] : [{ item, failure }],
  );
  const [first] = failures;
  if (first !== undefined && failures.length === outcomes.length)
    throw allFailed(failures, first.failure, verb);
  const shown = outcomes.filter(isShown);
  const results = shown.map(({ item, value, failure }) => ({
    item,
    ...(value ?? ({} as Partial<T>)),
    error: failure === undefined ? null : { code: failure.code, message: failure.message },
  }));
  if (shown.length > 0 || outcomes.length === 0) await cli.output.list(wholeList(results), columns);
  if (failures.length === 0) return;
  const partial = new CliError(
    "partial",
    `${failures.length} of ${outcomes.length} were not ${verb}`,
  );
  if (cli.output.isMachine) cli.io.warn(toErrorLine(partial));
  else cli.io.warn(`croft: ${partial.message}`);
  cli.finishWith(exitCodeOf(partial));
}

/** Maximum number of reasons, and of items for one reason, in a summary. */
const reasonsMax = 5;
const itemsMax = 3;

function allFailed(
  outcomes: readonly { readonly item: string; readonly failure: CliError }[],
  first: CliError,
  verb: string,
): CliError {
  const byReason = Map.groupBy(outcomes, ({ failure }) => failure.message);
  const reasons = [...byReason].map(([reason, failed]) => {
    const items = failed.map(({ item }) => item).filter((item) => !reason.includes(item));
    if (items.length === 0) return reason;
    const others = items.length > itemsMax ? ` and ${items.length - itemsMax} more` : "";
    return `${items.slice(0, itemsMax).join(", ")}${others}: ${reason}`;
  });
  const more = reasons.length > reasonsMax ? `; and ${reasons.length - reasonsMax} more` : "";
  // The problems and the hint of one item may not apply to the others.
  const { problems: _problems, hint, ...details } = first.details;
  const sameHint = outcomes.every(({ failure }) => failure.details.hint === hint);
  return new CliError(
    // The exit code is the first failure's: one for several reasons does not exist.
    first.code,
    `none were ${verb}: ${reasons.slice(0, reasonsMax).join("; ")}${more}`,
    { ...details, ...(hint === undefined || !sameHint ? {} : { hint }) },
  );
}
