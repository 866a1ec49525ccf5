import { createHash } from "node:crypto";
import type { ThreadOutcome, ThreadPool } from "../../jobs/thread-pool.ts";
import { AppError, assertNever } from "../../errors.ts";
import { escapeText } from "./html/flat.ts";
import { findMentions } from "./html/text-rules.ts";
import { toFormat, toMode, type RenderMode } from "./modes.ts";
import type { Rendered, Renderer, RenderInput } from "./renderer.ts";

/** A text as a request names it. */
export interface RenderRequest {
  readonly text: string;
  readonly mode: string;
  readonly context: string;
  readonly filePath: string;
  readonly isWiki: boolean;
  /** Whoever asks: an account, or the address of a stranger. */
  readonly askedBy: string;
}

/** The answer of the renderer, or that no mode has that name. */
export type RenderOutcome = Rendered | { readonly kind: "unknown_mode"; readonly mode: string };

/** Texts of people, made into HTML that is safe to show. */
export interface Rendering {
  /**
   * Renders a text (forge behaviour, 18). Refuses with `unavailable` when too many large texts are waiting, and with
   * `rate_limited` who has `LARGE_FOR_ONE_MAX` of them under way. A text that passes a limit, time included, is answered
   * `over_limit`.
   */
  render(request: RenderRequest): Promise<RenderOutcome>;
}

export interface RenderingDeps {
  /** Renders in this thread; made when the first text comes. */
  readonly createRenderer: () => Promise<Renderer>;
  /** Renders elsewhere: what is large, or of a format whose library is not to be trusted with this thread. */
  readonly threads: ThreadPool<RenderInput, Rendered>;
  /** Which of these names, in lower case, are users or organizations whom everybody may see. */
  readonly findMentionable: (lowerNames: readonly string[]) => Promise<readonly string[]>;
  /** The instance's public address without a slash at its end. */
  readonly publicUrl: () => string;
  /** Told of what should not happen: the engine failed on a text. */
  readonly reportBug: (error: unknown) => void;
}

/** Longer texts are rendered in a thread of their own, so that other requests do not wait for them. */
const INLINE_LENGTH_MAX = 64 * 1024;

/** How long a text may take, for each MiB begun. Hostile text stays below a second; the rest is room for slow machines. */
const BUDGET_MS_PER_MEBIBYTE = 2_000;

/** AsciiDoc's library is slower, and its first document waits for it to be loaded. */
const ASCIIDOC_BUDGET_MS = 3_000;

/** Large texts that are rendered or wait for one caller, so that nobody has all threads to work on hostile ones. */
const LARGE_FOR_ONE_MAX = 4;

/** How many names of one text are looked up. */
const MENTIONS_MAX = 200;

/** Rendered texts are kept up to this many characters together; pages show the same ones again and again. */
const KEPT_LENGTH_MAX = 8 * 1024 * 1024;
const KEPT_ONE_LENGTH_MAX = 512 * 1024;

/** Rendering as a service: where it happens, what is kept, and who may be mentioned. */
export function createRendering(deps: RenderingDeps): Rendering {
  const kept = createKeptTexts();
  let renderer: Promise<Renderer> | undefined;

  const toInput = async (request: RenderRequest, mode: RenderMode): Promise<RenderInput> => {
    const { text, context, filePath } = request;
    const names = mode === "markdown" ? [] : [...findMentions(text, MENTIONS_MAX)].sort();
    const mentionable = names.length === 0 ? [] : await deps.findMentionable(names);
    return { text, mode, root: `${deps.publicUrl()}/`, context, filePath, mentionable };
  };

  const underWay = new Map<string, number>();
  const renderElsewhere = async (input: RenderInput, askedBy: string): Promise<Rendered> => {
    const count = underWay.get(askedBy) ?? 0;
    if (count >= LARGE_FOR_ONE_MAX) throw tooMany("rate_limited", "Several of your large texts");
    underWay.set(askedBy, count + 1);
    try {
      return toRendered(await deps.threads.run(input, { budgetMs: toBudgetMs(input) }));
    } finally {
      const left = (underWay.get(askedBy) ?? 1) - 1;
      if (left === 0) underWay.delete(askedBy);
      else underWay.set(askedBy, left);
    }
  };

  const renderAnywhere = async (input: RenderInput, askedBy: string): Promise<Rendered> => {
    try {
      if (needsThread(input)) return await renderElsewhere(input, askedBy);
      renderer ??= deps.createRenderer();
      return await (await renderer).render(input);
    } catch (error) {
      if (error instanceof AppError) throw error;
      // The reference's answer to a failure of its engine: the text as it was written (18.1).
      deps.reportBug(error);
      return { kind: "rendered", html: escapeText(input.text) };
    }
  };

  return {
    async render(request) {
      const mode = toMode(request.mode, request.isWiki);
      if (mode === undefined) return { kind: "unknown_mode", mode: request.mode };
      const input = await toInput(request, mode);
      const key = toKey(input);
      const known = kept.get(key);
      if (known !== undefined) return { kind: "rendered", html: known };
      const rendered = await renderAnywhere(input, request.askedBy);
      if (rendered.kind === "rendered") kept.set(key, rendered.html);
      return rendered;
    },
  };
}

function needsThread(input: RenderInput): boolean {
  return input.text.length > INLINE_LENGTH_MAX || isAsciidoc(input);
}

function toBudgetMs(input: RenderInput): number {
  const mebibytes = Math.max(1, Math.ceil(input.text.length / 2 ** 20));
  return isAsciidoc(input) ? ASCIIDOC_BUDGET_MS : BUDGET_MS_PER_MEBIBYTE * mebibytes;
}

function isAsciidoc({ mode, filePath }: RenderInput): boolean {
  return mode === "file" && toFormat(filePath) === "asciidoc";
}

function toRendered(outcome: ThreadOutcome<Rendered>): Rendered {
  switch (outcome.kind) {
    case "done":
      return outcome.value;
    case "timed_out":
      return { kind: "over_limit", message: "rendering the text takes too long" };
    case "out_of_memory":
      return { kind: "over_limit", message: "rendering the text takes too much memory" };
    case "busy":
      throw tooMany("unavailable", "Too many large texts");
    case "failed":
      throw outcome.error;
    default:
      return assertNever(outcome);
  }
}

const tooMany = (code: "unavailable" | "rate_limited", what: string) =>
  new AppError(code, `${what} are being rendered. Try again later.`, {
    retryAfterSeconds: 5,
  });

function toKey(input: RenderInput): string {
  const { text, ...rest } = input;
  return createHash("sha256")
    .update(JSON.stringify(rest))
    .update("\0")
    .update(text)
    .digest("base64");
}

/** The texts that were asked for last, within a bound on their length together. */
function createKeptTexts() {
  const texts = new Map<string, string>();
  let length = 0;
  return {
    get(key: string): string | undefined {
      const html = texts.get(key);
      if (html === undefined) return undefined;
      texts.delete(key);
      texts.set(key, html);
      return html;
    },
    set(key: string, html: string): void {
      if (html.length > KEPT_ONE_LENGTH_MAX || texts.has(key)) return;
      texts.set(key, html);
      length += html.length;
      for (const [oldest, { length: freed }] of texts) {
        if (length <= KEPT_LENGTH_MAX) break;
        texts.delete(oldest);
        length -= freed;
      }
    },
  };
}
