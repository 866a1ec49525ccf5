import { createHash } from "node:crypto";
import { availableParallelism } from "node:os";
import { assertNever } from "../errors.ts";
import {
  createThreadPool,
  type ThreadOutcome,
  type ThreadPool,
  threadsUnavailable,
} from "../jobs/thread-pool.ts";
import { createLruCache } from "../utilities/lru-cache.ts";
import {
  toFormat,
  toMode,
  type Rendered,
  type RendererOptions,
  type RenderInput,
  type RenderMode,
} from "./document.ts";
import { escapeHtml } from "./html/escape.ts";
import { findMentions } from "./html/references.ts";

/** A request to render a text. */
export interface RenderRequest {
  readonly text: string;
  readonly mode: string;
  readonly context: string;
  readonly filePath: string;
  readonly isWiki: boolean;
  /** Whether headings with equal texts get different ids, for pages; Gitea's API gives them the same. */
  readonly hasUniqueIds?: boolean;
  /** The language of a text that is code as a whole; the mode does not count then. */
  readonly language?: string | undefined;
  /**
   * Identifies the account (`u:1`), or the address of an anonymous client (`a:192.0.2.1`): threads are shared fairly
   * between callers, and one thread is reserved for accounts.
   */
  readonly caller: string;
}

/** Result of the renderer, or an unknown mode. */
export type RenderOutcome = Rendered | { readonly kind: "unknown_mode"; readonly mode: string };

/** Renders untrusted text as HTML that is safe to show. */
export type Rendering = ReturnType<typeof createRendering>;

export interface RenderingDeps {
  readonly threads: ThreadPool<RenderInput, Rendered>;
  /** Returns which of these lower-case names are users or organizations that are visible to anonymous callers. */
  readonly findMentionable: (lowerNames: readonly string[]) => Promise<readonly string[]>;
  /** The instance's public address without a trailing slash. */
  readonly publicUrl: () => string;
  /** Reports an exception of the renderer. */
  readonly reportBug: (error: unknown) => void;
}

/** Processor time of one text: a fixed part, which includes loading a library, and a part for each MiB. */
const BUDGET_MS = 1_000;
const BUDGET_MS_PER_MEBIBYTE = 2_000;
/** Colours take longer than the parsing of a text: 512 KiB of usual code about 0.8 s with the sanitizer. */
const CODE_BUDGET_MS_PER_MEBIBYTE = 4_000;
/** AsciiDoc's library is slower than the others. */
const ASCIIDOC_BUDGET_MS = 3_000;

/** Memory of a thread. The largest accepted document (2 MiB of Markdown tables, 24 MiB of HTML) needs 270 MiB. */
const THREAD_MEMORY_MIB = 384;
const THREADS_MAX = 4;
const THREAD_IDLE_MS = 30_000;

/**
 * Maximum number of texts that wait for a thread: in total, of one caller, and their total length. A full queue is
 * shared fairly.
 */
const WAITING_MAX = 128;
const WAITING_PER_CALLER_MAX = 32;
const WAITING_LENGTH_MAX = 32 * 1024 * 1024;

/** Maximum number of names of one text that are looked up. */
const MENTIONS_MAX = 200;

/** Prefix of the names of anonymous callers; see `RenderRequest`. */
const ANONYMOUS = "a:";

/** Only HTML of short texts is cached: comments and READMEs, which pages show often. */
const CACHED_TEXT_LENGTH_MAX = 256 * 1024;
const CACHED_HTML_LENGTH_MAX = 512 * 1024;
const CACHE_LENGTH_MAX = 8 * 1024 * 1024;
/** HTML of code has a cache of its own: the largest files of pages take almost a second of a thread, and have millions of characters. */
const CACHED_CODE = {
  textLengthMax: 512 * 1024,
  valueLengthMax: 8 * 1024 * 1024,
  lengthMax: 24 * 1024 * 1024,
};

/**
 * Creates the rendering threads, which start with the first text. One caller never uses all of them, so that a caller
 * with slow texts does not delay others.
 */
export function createRenderingThreads(
  /** Returns unpredictable bytes. */
  random: (bytes: number) => Uint8Array,
): ThreadPool<RenderInput, Rendered> {
  const secret = `${Buffer.from(random(16)).toString("hex")}:`;
  const threadsMax = Math.min(THREADS_MAX, Math.max(2, availableParallelism() - 1));
  return createThreadPool<RenderInput, Rendered>({
    workerUrl: new URL("./rendering.worker.ts", import.meta.url),
    workerData: { secret, decorates: true } satisfies RendererOptions,
    threadsMax,
    runningPerCallerMax: threadsMax - 1,
    isAnonymous: (caller) => caller.startsWith(ANONYMOUS),
    queue: {
      lengthMax: WAITING_MAX,
      lengthPerCallerMax: WAITING_PER_CALLER_MAX,
      sizeMax: WAITING_LENGTH_MAX,
    },
    idleMs: THREAD_IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: THREAD_MEMORY_MIB },
  });
}

/** Creates the service. No untrusted text is parsed on the calling thread. */
export function createRendering(deps: RenderingDeps) {
  const texts = createLruCache<string>({
    valueLengthMax: CACHED_HTML_LENGTH_MAX,
    lengthMax: CACHE_LENGTH_MAX,
  });
  const codes = createLruCache<string>(CACHED_CODE);

  const toInput = async (request: RenderRequest, mode: RenderMode): Promise<RenderInput> => {
    const { text, context, filePath, language, hasUniqueIds = false } = request;
    if (mode === "code") return toCodeInput(text, language);
    const names = mode === "markdown" ? [] : [...findMentions(text, MENTIONS_MAX)].sort();
    const mentionable = names.length === 0 ? [] : await deps.findMentionable(names);
    const root = `${deps.publicUrl()}/`;
    return { text, mode, root, context, filePath, mentionable, hasUniqueIds };
  };

  const renderInThread = (input: RenderInput, caller: string) => {
    const options = { budgetMs: toBudgetMs(input), caller, size: input.text.length };
    return deps.threads.run(input, options);
  };

  return {
    /**
     * Renders a text in a worker thread, or returns it from the cache. Returns `over_limit` for a text that exceeds a
     * limit, including processor time and memory. Throws `unavailable` with `Retry-After` when the queue is full or no
     * thread can start.
     */
    async render(request: RenderRequest): Promise<RenderOutcome> {
      const mode = request.language === undefined ? toMode(request.mode, request.isWiki) : "code";
      if (mode === undefined) return { kind: "unknown_mode", mode: request.mode };
      if (request.text === "" && mode !== "file") return { kind: "rendered", html: "" };
      const input = await toInput(request, mode);
      const isCode = mode === "code";
      const cache = isCode ? codes : texts;
      const textLengthMax = isCode ? CACHED_CODE.textLengthMax : CACHED_TEXT_LENGTH_MAX;
      const key = input.text.length > textLengthMax ? undefined : toKey(input);
      const cached = key === undefined ? undefined : cache.get(key);
      if (cached !== undefined) return { kind: "rendered", html: cached };
      const outcome = await renderInThread(input, request.caller);
      if (outcome.kind === "failed" || outcome.kind === "not_started")
        deps.reportBug(outcome.error);
      // Gitea returns the unrendered text when its engine fails.
      if (outcome.kind === "failed") return { kind: "rendered", html: escapeHtml(input.text) };
      const rendered = toRendered(outcome);
      if (key !== undefined && rendered.kind === "rendered")
        cache.set(key, rendered.html, rendered.html.length);
      return rendered;
    },
    /** Terminates the worker threads. */
    close: (): Promise<void> => deps.threads.close(),
  };
}

/** Nothing but the text and its language counts, so that files of all places share the cache. */
function toCodeInput(text: string, language = ""): RenderInput {
  return { text, mode: "code", language, root: "", context: "", filePath: "", mentionable: [] };
}

function toBudgetMs({ text, mode, filePath }: RenderInput): number {
  if (mode === "file" && toFormat(filePath) === "asciidoc") return ASCIIDOC_BUDGET_MS;
  const forEach = mode === "code" ? CODE_BUDGET_MS_PER_MEBIBYTE : BUDGET_MS_PER_MEBIBYTE;
  return BUDGET_MS + Math.ceil((forEach * text.length) / 2 ** 20);
}

function toRendered(outcome: Exclude<ThreadOutcome<Rendered>, { kind: "failed" }>): Rendered {
  switch (outcome.kind) {
    case "done":
      return outcome.value;
    case "timed_out":
      return { kind: "over_limit", message: "rendering the text takes too long" };
    case "out_of_memory":
      return { kind: "over_limit", message: "rendering the text takes too much memory" };
    case "queue_full":
    case "not_started":
      throw threadsUnavailable(outcome);
    default:
      return assertNever(outcome);
  }
}

function toKey({ text, ...rest }: RenderInput): string {
  return createHash("sha256")
    .update(JSON.stringify(rest))
    .update("\0")
    .update(text)
    .digest("base64");
}
