import type { PartReader, SourcePage } from "./json-answers.ts";

/** A submitted review of a pull request. */
export interface SourceReview {
  readonly state: "approved" | "changes_requested" | "comment";
  readonly body: string;
  readonly author: string;
  /** Empty when the source does not say it. */
  readonly commitId: string;
  readonly isStale: boolean;
  readonly isDismissed: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly lines: readonly SourceReviewLine[];
}

/** A comment on a line of a diff. */
export interface SourceReviewLine {
  readonly path: string;
  readonly side: "old" | "new";
  readonly line: number;
  readonly body: string;
  readonly author: string;
  readonly commitId: string;
  readonly hunk: string;
  /** Who resolved the conversation; undefined while it is open. */
  readonly resolver: string | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A review before its comments are read. */
export interface FoundReview {
  readonly id: number;
  /** False when the source says that it has no comments on lines. */
  readonly hasLines: boolean;
  readonly review: Omit<SourceReview, "lines">;
}

/** How the reviews of a pull request are read, and their comments on lines. */
export interface ReviewReaders {
  readonly path: (number: number) => string;
  readonly read: (item: unknown) => FoundReview | undefined;
  /** Where the comments are listed: those of one review, or those of all reviews of a pull request. */
  readonly lines:
    | {
        readonly of: "review";
        readonly path: (number: number, id: number) => string;
        readonly read: (item: unknown) => SourceReviewLine;
      }
    | {
        readonly of: "pull";
        readonly path: (number: number) => string;
        readonly read: (item: unknown) => ReviewedLine;
      };
}

/** A comment on a line with the id of its review. */
export interface ReviewedLine {
  readonly reviewId: number;
  readonly line: SourceReviewLine;
}

/** Most pages of each list, reviews, comments on lines and characters of both that are read of one pull request. */
const REVIEWS_MAX = { pages: 20, reviews: 1_000, lines: 2_000, characters: 16_000_000 };
/** Time for the reviews of one pull request; what comes later is left out. They are read between two turns of other imports. */
const REVIEWS_MS = 600_000;

type FoundReviews = Pick<SourcePage<SourceReview>, "items" | "malformed">;
type FoundLines = Pick<SourcePage<SourceReviewLine>, "items" | "malformed">;
const none: FoundLines = { items: [], malformed: 0 };

/** Reads the submitted reviews of a pull request with their comments on lines, up to a maximum. Throws as `ImportSource.read`. */
export async function readReviews(
  readers: ReviewReaders,
  {
    number,
    readPage,
    readList,
    clock,
    signal,
  }: {
    readonly number: number;
    readonly readPage: <T>(
      reader: PartReader<T>,
      page: number,
      signal: AbortSignal,
    ) => Promise<SourcePage<T>>;
    readonly readList: <T>(reader: PartReader<T>, signal: AbortSignal) => Promise<SourcePage<T>>;
    readonly clock: () => number;
    readonly signal: AbortSignal;
  },
): Promise<FoundReviews> {
  const until = clock() + REVIEWS_MS;
  const left = { ...REVIEWS_MAX };
  const isFull = () => left.reviews === 0 || left.characters <= 0 || clock() > until;
  const items: SourceReview[] = [];
  let malformed = 0;
  const takeLines = openLines();
  for (let page = 1; page <= REVIEWS_MAX.pages; page += 1) {
    const found = await readPage({ path: readers.path(number), read: readers.read }, page, signal);
    malformed += found.malformed;
    for (const each of found.items) {
      if (isFull()) {
        malformed += 1;
        continue;
      }
      left.reviews -= 1;
      left.characters -= each.review.body.length;
      const lines = await takeLines(each);
      const kept = lines.items.slice(0, left.lines);
      left.lines -= kept.length;
      for (const { body, hunk } of kept) left.characters -= body.length + hunk.length;
      malformed += lines.malformed + lines.items.length - kept.length;
      items.push({ ...each.review, lines: kept });
    }
    if (!found.hasMore || isFull()) break;
  }
  return { items, malformed };

  /** Returns a function that returns the comments of a review. */
  function openLines(): (found: FoundReview) => Promise<FoundLines> {
    const { lines } = readers;
    if (lines.of === "pull") {
      let byReview: ReturnType<typeof readAllLines> | undefined;
      return async ({ id }) => {
        byReview ??= readAllLines(lines);
        const found = await byReview;
        const own = found.get(id) ?? [];
        // A source may list one review several times.
        found.delete(id);
        return { items: own, malformed: 0 };
      };
    }
    return async ({ id, hasLines }) => {
      const isRead = left.lines > 0 && left.characters > 0 && clock() <= until;
      if (!hasLines || !isRead) return none;
      return readList({ path: lines.path(number, id), read: lines.read }, signal);
    };
  }

  async function readAllLines({
    path,
    read,
  }: Extract<ReviewReaders["lines"], { readonly of: "pull" }>) {
    const byReview = new Map<number, SourceReviewLine[]>();
    let [count, characters] = [0, 0];
    for (let page = 1; page <= REVIEWS_MAX.pages; page += 1) {
      const found = await readPage({ path: path(number), read }, page, signal);
      malformed += found.malformed;
      for (const { reviewId, line } of found.items) {
        count += 1;
        characters += line.body.length + line.hunk.length;
        if (count > left.lines || characters > left.characters) malformed += 1;
        else byReview.set(reviewId, (byReview.get(reviewId) ?? []).concat(line));
      }
      if (!found.hasMore || count > left.lines || clock() > until) break;
    }
    return byReview;
  }
}
