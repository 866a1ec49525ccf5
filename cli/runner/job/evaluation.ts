import {
  evaluateCondition,
  evaluateTemplate,
  type Scope,
} from "../../../daemon/workflows/expressions/evaluate.ts";
import {
  type ConditionState,
  ExpressionError,
  type ExpressionValue,
  isTruthy,
  toText,
} from "../../../daemon/workflows/expressions/values.ts";
import { evaluateDeep, isMapping, type Mapping } from "../../../daemon/workflows/mapping.ts";
import type { Sleep } from "../retry.ts";
import { hashFiles } from "./hash-files.ts";

/** Contexts by name. */
export type Contexts = Readonly<Record<string, ExpressionValue>>;

/** Evaluates the expressions of a job where its files are. Every method throws `ExpressionError`. */
export type Evaluation = ReturnType<typeof createEvaluation>;

/** Calls of `hashFiles` of one expression. */
const HASHES_MAX = 20;
/** Longest time of a step or job: timers cannot wait longer than 24 days. */
const MINUTES_MAX = 24 * 60 * 20;

/** Time for the files of one call of `hashFiles`, as on GitHub. */
const HASH_MS = 120_000;

export interface EvaluationDeps {
  /** The folder of the repository on this machine. */
  readonly workspace: string;
  /** Its path as steps see it, which differs in a container. */
  readonly stepPath: string;
  readonly sleep: Sleep;
  /** Ends the hashing of files. */
  readonly stopped: AbortSignal;
}

/** Creates the evaluation of a job. */
export function createEvaluation({ workspace, stepPath, sleep, stopped }: EvaluationDeps) {
  const evaluation = {
    condition: (
      text: string | undefined,
      contexts: Contexts,
      state: ConditionState,
    ): Promise<boolean> =>
      within((scope) => evaluateCondition(text, { ...scope, contexts, state })),
    text: (text: string, contexts: Contexts): Promise<string> =>
      within((scope) => toText(evaluateTemplate(text, { ...scope, contexts }))),
    /**
     * Evaluates each value of a mapping to a text. Where an expression makes the mapping, such as `fromJSON`, its values are
     * data: expressions in them are not evaluated.
     */
    async texts(mapping: Mapping | string, contexts: Contexts): Promise<Record<string, string>> {
      const texts = new Map<string, string>();
      if (typeof mapping === "string")
        for (const [name, value] of Object.entries(await toMapping(mapping, contexts)))
          texts.set(name, toText(value));
      else
        for (const [name, value] of Object.entries(mapping))
          texts.set(name, toText(await evaluation.value(value, contexts)));
      return Object.fromEntries(texts);
    },
    async flag(value: ExpressionValue, contexts: Contexts): Promise<boolean> {
      const result = await evaluation.value(value, contexts);
      return result !== "false" && isTruthy(result);
    },
    /** A number of minutes in milliseconds; undefined for an absent value. */
    async minutes(value: ExpressionValue, contexts: Contexts): Promise<number | undefined> {
      const result = await evaluation.value(value, contexts);
      if (result === null || result === "") return undefined;
      const minutes = Number(result);
      // As on GitHub: no limit of its own.
      if (minutes === 0) return undefined;
      if (!(minutes > 0)) throw new ExpressionError("timeout-minutes must be a number from 0 on");
      return Math.min(minutes, MINUTES_MAX) * 60_000;
    },
    value: (value: ExpressionValue, contexts: Contexts): Promise<ExpressionValue> =>
      within((scope) => evaluateDeep(value, { ...scope, contexts })),
  };
  return evaluation;

  async function toMapping(template: string, contexts: Contexts): Promise<Mapping> {
    const value = await evaluation.value(template, contexts);
    if (isMapping(value)) return value;
    if (value === null || value === "") return {};
    throw new ExpressionError(`${template.slice(0, 80)} is not a mapping`);
  }

  /**
   * Evaluation is synchronous and hashing is not: files that an expression hashes are hashed afterwards, and the
   * expression is evaluated again with the result.
   */
  async function within<T>(evaluate: (scope: Pick<Scope, "hashFiles">) => T): Promise<T> {
    const hashes = new Map<string, string>();
    for (;;) {
      let missing: readonly string[] | undefined;
      const lookUp = (patterns: readonly string[]) => {
        const hash = hashes.get(JSON.stringify(patterns));
        if (hash === undefined) missing ??= patterns;
        return hash ?? "";
      };
      try {
        const value = evaluate({ hashFiles: lookUp });
        if (missing === undefined) return value;
      } catch (error) {
        // Without the hash the rest of the expression may have failed.
        if (missing === undefined) throw error;
      }
      if (hashes.size >= HASHES_MAX)
        throw new ExpressionError(`an expression calls hashFiles at most ${HASHES_MAX} times`);
      hashes.set(JSON.stringify(missing), await hash(missing));
    }
  }

  async function hash(patterns: readonly string[]): Promise<string> {
    const time = new AbortController();
    const done = new AbortController();
    sleep(HASH_MS, done.signal).then(
      () => time.abort(),
      // The files were hashed in time.
      () => undefined,
    );
    try {
      const signal = AbortSignal.any([stopped, time.signal]);
      return await hashFiles(workspace, patterns, { patternRoot: stepPath, signal });
    } finally {
      done.abort();
    }
  }
}
