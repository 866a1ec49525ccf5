import type { ForgeCaller } from "../caller.ts";
import type { OwnedRepository } from "../events.ts";

const PREFIX = "refs/for/";

/** Returns whether a push of a ref asks for a pull request (AGit) and moves no ref of this name. */
export const isReviewRef = (ref: string): boolean => ref.startsWith(PREFIX);

/** A push to `refs/for/BASE` or `refs/for/BASE/TOPIC`. */
export interface ReviewPush extends OwnedRepository {
  readonly caller: ForgeCaller;
  /** What follows `refs/for/`. */
  readonly target: string;
  /** Undefined for a deletion. */
  readonly commit: string | undefined;
  /** Options of `git push -o`. */
  readonly options: readonly string[];
}

/** The ref that a push for review has moved. */
export interface ReviewedRef {
  readonly ref: string;
  readonly before: string | undefined;
  readonly after: string;
  readonly isForced: boolean;
  /** What the client is told. */
  readonly notice: string;
}

/** Opens and updates pull requests for pushes without a branch. */
export interface ReviewPushes {
  /**
   * Returns why a push is refused, in one line.
   * @param quarantine the folder of objects that git has not taken in yet, relative to the repository
   */
  findRefusal(push: ReviewPush, quarantine: string | undefined): Promise<string | undefined>;
  /** Carries a push out, whose objects git has taken in. Refuses with `AppError`. */
  receive(push: ReviewPush): Promise<ReviewedRef>;
}

export const toReviewTarget = (ref: string): string => ref.slice(PREFIX.length);
