import { type CliError, toCliError } from "../errors.ts";

/** The outcome of the loads of one view so far. */
export interface LoadState {
  /** Whether a load has succeeded. */
  readonly wasLoaded: boolean;
  /** The error of the last load. */
  readonly failure: CliError | undefined;
}

/** Loads the data of one view. A later load supersedes an earlier one. */
export interface Load extends LoadState {
  readonly isLoading: boolean;
  /**
   * Runs `work`; resolves when it has ended, also with a failure. `work` must discard its result once `isCurrent` returns
   * false.
   */
  run(work: (isCurrent: () => boolean) => Promise<void>): Promise<void>;
}

/** @param notify is called when a load begins or ends */
export function createLoad(notify: () => void): Load {
  let current: object | undefined;
  let wasLoaded = false;
  let failure: CliError | undefined;
  return {
    get isLoading() {
      return current !== undefined;
    },
    get wasLoaded() {
      return wasLoaded;
    },
    get failure() {
      return failure;
    },
    async run(work) {
      const own = {};
      const isCurrent = () => current === own;
      current = own;
      notify();
      try {
        await work(isCurrent);
        if (isCurrent()) [wasLoaded, failure] = [true, undefined];
      } catch (error) {
        if (isCurrent()) failure = toCliError(error);
      } finally {
        if (isCurrent()) current = undefined;
        notify();
      }
    },
  };
}

/**
 * What a view shows: exactly one of these. `stale` is content of an earlier load, with the reason why it could not be
 * renewed. An error replaces an empty list, which may have rows by now.
 */
export type Phase =
  | { readonly kind: "loading" | "empty" | "content" }
  | { readonly kind: "failed" | "stale"; readonly failure: CliError };

/** Returns the phase of a view that has `count` rows. */
export function phaseOf({ wasLoaded, failure }: LoadState, count: number): Phase {
  if (failure !== undefined) return { kind: wasLoaded && count > 0 ? "stale" : "failed", failure };
  if (!wasLoaded) return { kind: "loading" };
  return { kind: count === 0 ? "empty" : "content" };
}
