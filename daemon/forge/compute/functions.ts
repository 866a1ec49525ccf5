import { createMaskRows } from "../actions/secrets/masker.ts";
import { editorConfigOf } from "../code/editor-config.ts";
import { matchNames } from "../repositories/name-patterns.ts";
import { compactNpmDocument } from "../packages/npm/compact-document.ts";
import { evaluateInThread } from "../actions/workflows/evaluation.ts";
import { matchActivity, matchPush } from "../actions/workflows/triggers.ts";

/** A pure function over values from users, with an estimate of its work. */
export interface ComputeFunction<Input, Output> {
  /**
   * Returns an upper bound of the work of one call in steps, such as compared characters, without doing that work. A step
   * takes at most some 10 ns.
   */
  readonly cost: (input: Input) => number;
  /** Returns the characters of the input, which is in memory while it waits for a thread. */
  readonly length: (input: Input) => number;
  /** `postMessage` must be able to copy the input and the result. */
  readonly run: (input: Input) => Output;
}

/** The functions over values from users that take more work than the size of their input suggests. */
export type ComputeFunctions = ReturnType<typeof createComputeFunctions>;

/** Creates the functions of one thread, which may keep caches. A feature adds one line. */
export function createComputeFunctions() {
  return {
    compactNpmDocument,
    evaluateRequest: evaluateInThread,
    editorConfigOf,
    maskRows: createMaskRows(),
    matchActivity,
    matchNames,
    matchPush,
  } satisfies Readonly<Record<string, ComputeFunction<never, unknown>>>;
}
