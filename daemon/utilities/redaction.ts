/** Words whose fields are redacted, wherever they occur in the field's name. */
const SECRET_NAME =
  /pass(?:word|wd|phrase)|secret|token|authorization|cookie|api[-_]?key|private[-_]?key|master[-_]?key|credential|otp|backup[-_]?code|signature/i;
const REDACTED = "[redacted]";
const DEPTH_MAX = 8;
const TEXT_CHARACTERS_MAX = 8_192;

/** A pattern of credentials in a text, and its replacement. */
interface CredentialPattern {
  readonly pattern: RegExp;
  readonly replacement: string;
  /** A part of every match: a text without it is not searched, which takes a fraction of the time. */
  readonly mark: string;
}

/**
 * The text may be JSON, so a quote or backslash ends credentials. Every repetition is bounded: a hostile text must not cost more
 * than its length.
 */
const CREDENTIALS: readonly CredentialPattern[] = [
  // scheme://user:pass@host and scheme://token@host
  {
    pattern: /\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#"'\\]{1,512}@/gi,
    replacement: `$1${REDACTED}@`,
    mark: "@",
  },
  // user:pass@host without a scheme
  {
    pattern: /(^|[\s"'(=,])[^\s:/?#@"'\\(=,]{1,64}:[^\s/?#@"'\\]{1,128}@(?=[a-z0-9[])/gi,
    replacement: `$1${REDACTED}@`,
    mark: "@",
  },
  {
    pattern: /\b(bearer|basic|token)\s{1,4}[\w.~+/=-]{8,2048}/gi,
    replacement: `$1 ${REDACTED}`,
    mark: "",
  },
  {
    pattern:
      /([?&;](?:[\w-]{0,40}(?:token|secret|password|signature|credential|api[-_]?key)|sig|code|key|state)=)[^&;\s"'\\]{1,2048}/gi,
    replacement: `$1${REDACTED}`,
    mark: "=",
  },
  // a JSON web token, anywhere in the text
  {
    pattern: /\beyJ[\w-]{8,1024}\.[\w-]{8,2048}\.[\w-]{1,1024}/g,
    replacement: REDACTED,
    mark: "eyJ",
  },
];

/**
 * Returns a function that redacts credentials and the given secrets in a text: user and password in addresses, bearer
 * and basic values, secret query parameters, JSON web tokens. Works on JSON text as well and leaves it JSON. Secrets of
 * fewer than six characters are not redacted: they could be ordinary words.
 */
export function createScrubber(secrets: readonly string[]): (text: string) => string {
  const known = [...new Set(secrets.flatMap(toForms))]
    .filter((secret) => secret.length >= 6)
    .sort((a, b) => b.length - a.length)
    .map((secret) => secret.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  const exact = known.length === 0 ? undefined : new RegExp(known.join("|"), "g");
  return (text) => {
    let clean = exact === undefined ? text : text.replace(exact, REDACTED);
    for (const { pattern, replacement, mark } of CREDENTIALS) {
      if (clean.includes(mark)) clean = clean.replace(pattern, replacement);
    }
    return clean;
  };
}

/** A copy of `fields` without the values of secret names, at any depth, lists and numbers under them included. */
export function redactDeep(fields: Record<string, unknown>): Record<string, unknown> {
  return redactValue(fields, 0) as Record<string, unknown>;
}

/** A copy of a value with the control characters of its texts written out, so that a terminal shows and does not obey them. */
export function showControls<T>(value: T): T {
  if (typeof value === "string") {
    return value.replace(CONTROLS, toEscape) as T & string;
  }
  if (Array.isArray(value)) {
    return value.map(showControls) as T & unknown[];
  }
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).map(([name, inner]) => [
      showControls(name),
      // Keep the line ends of a stack; the printer indents the lines after them.
      name === "stack" && typeof inner === "string"
        ? inner.split(/\r?\n/).map(showControls).join("\n")
        : showControls(inner),
    ]);
    return Object.fromEntries(entries) as T & object;
  }
  return value;
}

// Control characters, and those that turn the direction of the text around them.
// oxlint-disable-next-line no-control-regex -- the pattern matches them
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

function toEscape(character: string): string {
  const short: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
  return short[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** The forms of a secret in a text: as it is, inside JSON, inside an address; and the password of an address. */
function toForms(secret: string): string[] {
  const password = URL.parse(secret)?.password ?? "";
  const plain = [secret, password, decoded(password)].filter((form) => form !== "");
  return plain.flatMap((form) => [
    form,
    JSON.stringify(form).slice(1, -1),
    encodeURIComponent(form),
  ]);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not encoded after all.
    return text;
  }
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === "string" && value.length > TEXT_CHARACTERS_MAX) {
    return `${value.slice(0, TEXT_CHARACTERS_MAX)}…`;
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  if (depth >= DEPTH_MAX) {
    return "[…]";
  }
  if (Array.isArray(value)) {
    return value.map((item) => redactValue(item, depth + 1));
  }
  if (value instanceof Date || value instanceof URL) {
    return String(value instanceof Date ? value.toISOString() : value.href);
  }
  if (value instanceof Uint8Array) {
    return `[${value.length} bytes]`;
  }
  const source =
    value instanceof Error
      ? { ...errorFields(value), ...Object.fromEntries(Object.entries(value)) }
      : value;
  return Object.fromEntries(
    Object.entries(source).map(([name, inner]) => [
      name,
      SECRET_NAME.test(name) && inner !== undefined && inner !== null
        ? REDACTED
        : redactValue(inner, depth + 1),
    ]),
  );
}

function errorFields({ name, message, stack, cause }: Error): Record<string, unknown> {
  return { type: name, message, stack, ...(cause === undefined ? {} : { cause }) };
}
