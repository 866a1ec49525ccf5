import { z } from "zod";
import type { GuardedRequest, OutboundOutcome } from "../../outbound/guarded-request.ts";
import type { ImportPart } from "./import-parts.ts";
import { parseAnswer, type PartReader, type SourcePage } from "./json-answers.ts";
import { type Credentials } from "./remote-address.ts";
import { RemoteUnusable } from "./remotes.ts";
import { about, type SourceAbout } from "./source-schemas.ts";
import { readReviews, type ReviewReaders, type SourceReview } from "./source-reviews.ts";

export interface SourceLabel {
  readonly name: string;
  readonly color: string;
  readonly description: string;
  readonly isExclusive: boolean;
  /** Whether it is no longer offered. */
  readonly isArchived: boolean;
}

/** Times are epoch milliseconds. */
export interface SourceMilestone {
  readonly title: string;
  readonly description: string;
  readonly isClosed: boolean;
  readonly dueAt: number | undefined;
  readonly createdAt: number | undefined;
  readonly closedAt: number | undefined;
}

/** An issue or a pull request. Times are epoch milliseconds. */
export interface SourceIssue {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly author: string;
  readonly isClosed: boolean;
  readonly isLocked: boolean;
  /** Names of labels. */
  readonly labels: readonly string[];
  /** The title of the milestone. */
  readonly milestone: string | undefined;
  readonly dueAt: number | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly closedAt: number | undefined;
  /** Undefined for an issue. */
  readonly pull: SourcePull | undefined;
}

export interface SourcePull {
  readonly baseBranch: string;
  readonly baseCommit: string;
  readonly headBranch: string;
  /** Whether the head is a branch of the same repository. */
  readonly isOwnHead: boolean;
  /** Of the fork with the head, without credentials; undefined when there is none, or it was deleted. */
  readonly forkAddress: string | undefined;
  readonly mergedAt: number | undefined;
  readonly mergeCommit: string | undefined;
}

export interface SourceComment {
  /** Of the issue or the pull request. */
  readonly number: number;
  readonly body: string;
  readonly author: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface SourceRelease {
  readonly tagName: string;
  readonly target: string;
  readonly title: string;
  readonly body: string;
  readonly isDraft: boolean;
  readonly isPrerelease: boolean;
  readonly author: string;
  readonly createdAt: number;
  readonly publishedAt: number;
  readonly assets: readonly SourceAsset[];
}

export interface SourceAsset {
  readonly name: string;
  readonly url: string;
}

/** The parts that a source lists by its API, each in one list. */
export type ListedPart = Exclude<ImportPart, "large_files" | "reviews">;

interface ItemTypes {
  readonly labels: SourceLabel;
  readonly milestones: SourceMilestone;
  readonly releases: SourceRelease;
  readonly issues: SourceIssue;
  readonly pulls: SourceIssue;
  readonly comments: SourceComment;
}

/** The dialect of an API. */
export interface Dialect {
  /** Of a repository at an address without credentials. */
  readonly toApi: (address: string) => string;
  readonly toHeaders: (credentials: Credentials) => Readonly<Record<string, string>>;
  readonly pageSize: number;
  readonly pageSizeName: string;
  readonly parts: { readonly [P in ListedPart]: PartReader<ItemTypes[P]> };
  /** Lists the newest issue or pull request first. */
  readonly newest: string;
  readonly reviews: ReviewReaders;
}

/** The source takes no requests for a while. */
export class SourceBusy extends Error {
  readonly waitMs: number;

  constructor(waitMs: number) {
    super("the source limits requests");
    this.name = "SourceBusy";
    this.waitMs = waitMs;
  }
}

/** The source did not answer; it may later. */
export class SourceAway extends Error {}

/** Most bytes of one page: it is parsed on the event loop. */
const PAGE_BYTES_MAX = 8 * 1024 * 1024;
/** Most items of one list that are looked at; some servers send a whole list as its first page. */
const ITEMS_MAX = 1_000;
const TIMEOUT_MS = 60_000;
/** An hour is the window of GitHub's limit. */
const WAIT_MS = { usual: 60_000, max: 3_700_000 };

export type ImportSource = ReturnType<typeof createSource>;

/** Reads a repository's issues and releases by the API of its server. */
export function createSource({
  dialect,
  address,
  credentials,
  request,
  clock,
  count = () => undefined,
}: {
  readonly dialect: Dialect;
  readonly address: string;
  readonly credentials: Credentials;
  readonly request: GuardedRequest;
  readonly clock: () => number;
  /** Counts the bytes of an answer, and throws when they are too many. */
  readonly count?: (bytes: number) => void;
}) {
  const api = dialect.toApi(address);
  const headers = dialect.toHeaders(credentials);
  return {
    /** For the download of files. */
    headers,

    /**
     * Returns the number of the newest issue or pull request; 0 without any. Throws as `read` does, so it also says whether
     * the source accepts the credentials.
     */
    async findNewest(signal: AbortSignal): Promise<number> {
      const answer = await ask(`${dialect.newest}&${dialect.pageSizeName}=1`, signal);
      if (answer.status === 404) assertServed(await ask("", signal), clock());
      const { items } = answer.status === 404 ? nothing : toList(answer);
      const first = numbered.safeParse(items[0]);
      return first.success ? first.data.number : 0;
    },

    /** Returns what the repository says of itself, as far as the source tells. Throws as `read` does. */
    async readAbout(signal: AbortSignal): Promise<SourceAbout> {
      const answer = await ask("", signal);
      const found = answer.status === 404 ? undefined : about.safeParse(parseAnswer(answer.body));
      return found?.data ?? { description: "", website: "", topics: [] };
    },

    /**
     * Returns a page of a part, from 1. Throws `RemoteUnusable` when the source refuses or answers something else, `SourceBusy`
     * when it limits requests, and `SourceAway` when it does not answer.
     */
    async read<P extends ListedPart>(
      part: P,
      page: number,
      signal: AbortSignal,
    ): Promise<SourcePage<ItemTypes[P]>> {
      const { path, read } = dialect.parts[part] as PartReader<ItemTypes[P]>;
      return readPage({ path, read }, page, signal);
    },

    /** Returns the submitted reviews of a pull request with their comments on lines. Throws as `read` does. */
    async readReviews(
      number: number,
      signal: AbortSignal,
    ): Promise<Pick<SourcePage<SourceReview>, "items" | "malformed">> {
      return readReviews(dialect.reviews, { number, readPage, readList, clock, signal });
    },
  };

  async function readPage<T>(
    { path, read }: PartReader<T>,
    page: number,
    signal: AbortSignal,
  ): Promise<SourcePage<T>> {
    const mark = path.includes("?") ? "&" : "?";
    const window = `page=${page}&${dialect.pageSizeName}=${dialect.pageSize}`;
    return readList({ path: `${path}${mark}${window}`, read }, signal);
  }

  async function readList<T>(
    { path, read }: PartReader<T>,
    signal: AbortSignal,
  ): Promise<SourcePage<T>> {
    const answer = await ask(path, signal);
    // A part that is turned off there is missing, while the repository is not.
    if (answer.status === 404) assertServed(await ask("", signal), clock());
    const { items, ...rest } = answer.status === 404 ? nothing : toList(answer);
    const found: T[] = [];
    let malformed = Math.max(0, items.length - ITEMS_MAX);
    for (const item of items.slice(0, ITEMS_MAX)) {
      try {
        const one = read(item);
        if (one !== undefined) found.push(one);
      } catch (error) {
        if (!(error instanceof z.ZodError)) throw error;
        malformed += 1;
      }
    }
    return { items: found, malformed, ...rest };
  }

  async function ask(path: string, signal: AbortSignal): Promise<SourceAnswer> {
    const outcome = await request({
      url: api + path,
      method: "GET",
      headers: { Accept: "application/json", "User-Agent": "croft", ...headers },
      body: "",
      privateHeaders: ["authorization"],
      timeoutMs: TIMEOUT_MS,
      responseBytesMax: PAGE_BYTES_MAX,
      signal,
    });
    signal.throwIfAborted();
    assertAnswered(outcome);
    count(outcome.body.byteLength);
    if (outcome.status !== 404) assertServed(outcome, clock());
    return outcome;
  }
}

type SourceAnswer = Extract<OutboundOutcome, { readonly kind: "answered" }>;

const nothing = { items: [], hasMore: false, total: 0 };

function toList({ headers, body, isCut }: SourceAnswer) {
  if (isCut) throw new RemoteUnusable("the source answers with too much at once");
  const items = parseList(body);
  const link = headers["link"];
  const total = Number(headers["x-total-count"] ?? Number.NaN);
  return {
    items,
    hasMore: items.length > 0 && (link === undefined || /rel="?next/.test(link)),
    total: Number.isSafeInteger(total) && total >= 0 ? total : undefined,
  };
}

/** The number of an issue: larger ones would leave none for those that follow. */
export const issueNumber = z.int().min(1).max(2_000_000_000);
const numbered = z.object({ number: issueNumber });

function parseList(body: Buffer): unknown[] {
  const parsed = parseAnswer(body);
  if (!Array.isArray(parsed)) throw new RemoteUnusable("the source does not answer with a list");
  return parsed;
}

interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

type Unanswered = Exclude<OutboundOutcome, { readonly kind: "answered" }>;

/** @throws RemoteUnusable for an address that must not be asked, SourceAway when there is no answer */
export function assertAnswered<Outcome extends { readonly kind: "answered" } | Unanswered>(
  outcome: Outcome,
): asserts outcome is Extract<Outcome, { readonly kind: "answered" }> {
  const found: { readonly kind: "answered" } | Unanswered = outcome;
  if (found.kind === "refused") throw new RemoteUnusable(found.reason);
  if (found.kind === "failed") throw new SourceAway(found.reason);
}

/** @throws SourceBusy for the answer of a server that limits requests */
export function assertNotLimited({ status, headers }: Answered, now: number): void {
  // GitHub limits the rate of requests, besides their number in an hour, with a 403 that names the time.
  const isLimited =
    status === 429 ||
    (status === 403 &&
      (headers["x-ratelimit-remaining"] === "0" || headers["retry-after"] !== undefined));
  if (isLimited) throw new SourceBusy(toWait(headers, now));
}

function assertServed(answer: Answered, now: number): void {
  const { status } = answer;
  if (status === 200) return;
  assertNotLimited(answer, now);
  if (status === 401 || status === 403)
    throw new RemoteUnusable(`the source refuses the credentials (status ${status})`);
  if (status === 404)
    throw new RemoteUnusable(
      "the source has no such repository, or wants credentials (status 404)",
    );
  if (status >= 500) throw new SourceAway(`the source answered with status ${status}`);
  throw new RemoteUnusable(`the source answered with status ${status}`);
}

function toWait(headers: Readonly<Record<string, string>>, now: number): number {
  const after = Number(headers["retry-after"] ?? Number.NaN) * 1000;
  const reset = Number(headers["x-ratelimit-reset"] ?? Number.NaN) * 1000 - now;
  const wait = [after, reset].find((each) => Number.isFinite(each) && each > 0) ?? WAIT_MS.usual;
  return Math.min(Math.max(wait, 1_000), WAIT_MS.max);
}
