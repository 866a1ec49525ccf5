// daemon/outbound/breach: checks whether a password appeared in a data breach, without revealing the password.
// Start here.
import { hash } from "node:crypto";
import { request } from "undici";

/** Returns whether a password is known from a breach. Never throws: without the service the bundled list decides. */
export type BreachLookup = ReturnType<typeof createBreachLookup>;

export interface BreachLookupOptions {
  /** Base address of the range protocol, or `off` for the bundled list alone. */
  readonly url: string;
  /** Returns whether a password is on the bundled list. */
  readonly isCommon: (password: string) => Promise<boolean>;
  /** Called once when the service stops answering, and again only after it has answered in between. */
  readonly warn: (message: string, cause: unknown) => void;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 2_000;
/** A range has some 1,000 lines of 40 characters; a longer response is not a range. */
const ANSWER_BYTES_MAX = 1024 * 1024;
const PREFIX_LENGTH = 5;

/**
 * Creates the lookup by the Pwned Passwords range protocol: only the first five characters of the SHA-1 in hex leave this
 * machine, and the padded response hides the number of its lines.
 */
export function createBreachLookup(options: BreachLookupOptions) {
  let isDegraded = false;
  return {
    async isBreached(password: string): Promise<boolean> {
      if (options.url === "off") return options.isCommon(password);
      const digest = hash("sha1", password, "hex").toUpperCase();
      try {
        const range = await fetchRange(
          `${options.url.replace(/\/+$/, "")}/range/${digest.slice(0, PREFIX_LENGTH)}`,
          options.timeoutMs ?? TIMEOUT_MS,
        );
        isDegraded = false;
        return isInRange(range, digest.slice(PREFIX_LENGTH));
      } catch (error) {
        if (!isDegraded)
          options.warn(
            "The breached-password look-up does not answer; the bundled list of common passwords decides until it does.",
            error,
          );
        isDegraded = true;
        return options.isCommon(password);
      }
    },
  };
}

async function fetchRange(url: string, timeoutMs: number): Promise<string> {
  // One signal for the whole exchange: a server that sends its response slowly does not get more time.
  const signal = AbortSignal.timeout(timeoutMs);
  const { statusCode, body } = await request(url, {
    signal,
    headers: { "Add-Padding": "true", "User-Agent": "croft", Accept: "text/plain" },
  });
  try {
    if (statusCode !== 200) throw new Error(`the range service answered ${statusCode}`);
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.byteLength;
      if (size > ANSWER_BYTES_MAX) throw new Error("the range service answered too much");
      chunks.push(chunk);
    }
    return assertRange(Buffer.concat(chunks).toString("latin1"));
  } finally {
    // A body that is not read to its end would block the connection; the error of its abort is expected.
    body.on("error", ignore).destroy();
  }
}

/** Throws for a response that is not a range, such as the page of a captive portal, which must not count as "not found". */
function assertRange(text: string): string {
  const [first = ""] = text.split("\n", 1);
  if (!/^[0-9A-F]{35}:\d+\s*$/i.test(first)) throw new Error("the range service answered no range");
  return text;
}

/** Returns whether the range lists the suffix with a count; lines with count 0 are padding. */
function isInRange(range: string, suffix: string): boolean {
  return range.split("\n").some((line) => {
    const [candidate = "", count = "0"] = line.trim().split(":");
    return candidate.toUpperCase() === suffix && Number(count) > 0;
  });
}

function ignore(): void {}

/**
 * Returns whether a password is among the 49,000 most common ones, ignoring case. Loads the list at the first call: it is
 * needed only when the lookup service does not answer.
 */
export function createCommonPasswords(): (password: string) => Promise<boolean> {
  let list: Promise<ReadonlySet<string>> | undefined;
  return async (password) => {
    list ??= loadList();
    return (await list).has(password.toLowerCase());
  };
}

async function loadList(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import("@zxcvbn-ts/language-common");
  return new Set(dictionary["passwords-common"]);
}
