import type { CliContext } from "../context.ts";
import { CliError, DryRun, exitCodeOf, toCliError, toErrorLine } from "../errors.ts";
import { type CliErrorCode, errorCodes } from "../exit-codes.ts";
import type { Column } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { type FieldType, toObjectSchema } from "../output/spec.ts";

/** The error of one of several, in the words of the error line. */
export interface BatchError {
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

/** What became of one of several. */
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

/**
 * Does one after the other, or `atOnce` at one time, and goes on after a failure, unless the others would fail as well.
 * The outcomes are in the order of the items.
 */
export async function runBatch<T extends object>(
  items: readonly string[],
  work: (item: string) => Promise<T>,
  atOnce = 1,
): Promise<readonly Outcome<T>[]> {
  const done: (Outcome<T> | DryRun | undefined)[] = items.map(() => undefined);
  const rest = items.entries();
  const worker = async () => {
    for (const [index, item] of rest) done[index] = await doOne(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  const outcomes = done.filter(
    (one): one is Outcome<T> => one !== undefined && !(one instanceof DryRun),
  );
  const wouldBe = done.filter((one) => one instanceof DryRun);
  const [only, ...others] = wouldBe;
  if (only !== undefined && others.length === 0) throw only;
  if (only !== undefined)
    throw new DryRun({ requests: wouldBe.map(({ would }) => would["request"]) });
  return outcomes;

  async function doOne(item: string): Promise<Outcome<T> | DryRun> {
    try {
      return { item, value: await work(item), failure: undefined };
    } catch (error) {
      if (error instanceof DryRun) return error;
      const failure = toCliError(error);
      if (hopeless.has(failure.code) || items.length === 1) throw error;
      return { item, value: undefined, failure };
    }
  }
}

/**
 * Prints the results of a batch. When some failed the results say which, and the exit code is that of `partial`.
 * @throws CliError when nothing was done at all
 */
export async function finishBatch<T extends object>(
  cli: CliContext,
  outcomes: readonly Outcome<T>[],
  verb: string,
  columns: readonly Column<
    { readonly item: string; readonly error: BatchError | null } & Partial<T>
  >[],
): Promise<void> {
  const failures = outcomes.flatMap(({ failure }) => (failure === undefined ? [] : [failure]));
  const [first] = failures;
  if (first !== undefined && failures.length === outcomes.length)
    throw allFailed(failures, first, verb);
  const results = outcomes.map(({ item, value, failure }) => ({
    item,
    ...(value ?? ({} as Partial<T>)),
    error: failure === undefined ? null : { code: failure.code, message: failure.message },
  }));
  await cli.output.list(wholeList(results), columns);
  if (failures.length === 0) return;
  const partial = new CliError(
    "partial",
    `${failures.length} of ${outcomes.length} were not ${verb}`,
  );
  if (cli.output.isMachine) cli.io.warn(toErrorLine(partial));
  else cli.io.warn(`croft: ${partial.message}`);
  cli.finishWith(exitCodeOf(partial));
}

function allFailed(failures: readonly CliError[], first: CliError, verb: string): CliError {
  const reasons = [...new Set(failures.map(({ message }) => message))].join("; ");
  const sameExit = failures.every(
    ({ code }) => errorCodes[code].exit === errorCodes[first.code].exit,
  );
  return new CliError(
    sameExit ? first.code : "unexpected",
    `none were ${verb}: ${reasons}`,
    first.details,
  );
}
