/** A refusal in the way of Google's APIs. */
export class Refusal extends Error {
  readonly status: number;
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    reason: string,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.name = "Refusal";
    this.status = status;
    this.reason = reason;
    this.headers = headers;
  }
}

/** The body of a refusal. */
export function toErrorBody({ status, reason, message }: Refusal): unknown {
  return { error: { code: status, message, errors: [{ domain: "global", reason, message }] } };
}

/** One condition of the `q` of files.list. */
export type Condition =
  | { readonly kind: "parent"; readonly id: string }
  | { readonly kind: "trashed"; readonly value: boolean }
  | { readonly kind: "mine" }
  | { readonly kind: "name"; readonly value: string }
  | { readonly kind: "mimeType"; readonly value: string };

const TEXT = String.raw`'((?:[^'\\]|\\['\\])*)'`;
const conditions: readonly [RegExp, (text: string) => Condition][] = [
  [new RegExp(`^${TEXT} in parents`), (text) => ({ kind: "parent", id: unquote(text) })],
  [new RegExp(`^name = ${TEXT}`), (text) => ({ kind: "name", value: unquote(text) })],
  [new RegExp(`^mimeType = ${TEXT}`), (text) => ({ kind: "mimeType", value: unquote(text) })],
  [/^'me' in owners/, () => ({ kind: "mine" })],
  [/^trashed ?= ?(true|false)/, (text) => ({ kind: "trashed", value: text === "true" })],
];

/** Reads the conditions of a `q`, joined by `and`; refuses anything else, as Drive does. */
export function parseQuery(q: string): readonly Condition[] {
  const found: Condition[] = [];
  let rest = q;
  for (;;) {
    const before = rest;
    for (const [pattern, toCondition] of conditions) {
      const match = pattern.exec(rest);
      if (match === null) continue;
      found.push(toCondition(match[1] ?? ""));
      rest = rest.slice(match[0].length);
      break;
    }
    if (rest === before) throw new Refusal(400, "invalid", "Invalid Value");
    if (rest === "") return found;
    if (!rest.startsWith(" and ")) throw new Refusal(400, "invalid", "Invalid Value");
    rest = rest.slice(" and ".length);
  }
}

function unquote(text: string): string {
  return text.replace(/\\(['\\])/g, "$1");
}

/** A partial response: `true` is the whole member. */
export type Selection = ReadonlyMap<string, Selection | true>;

/** Reads `fields`: names with commas, `a/b`, `a(b,c)` and `*`. */
export function parseFields(text: string): Selection | true {
  let at = 0;
  const refuse = () => new Refusal(400, "invalidParameter", `Invalid field selection ${text}`);

  function list(): Selection | true {
    const found = new Map<string, Selection | true>();
    for (;;) {
      const name = /^[\w*]+/.exec(text.slice(at))?.[0];
      if (name === undefined) throw refuse();
      at += name.length;
      found.set(name, rest());
      if (text[at] !== ",") return found.has("*") ? true : found;
      at += 1;
    }
  }

  function rest(): Selection | true {
    if (text[at] === "/") {
      at += 1;
      const name = /^\w+/.exec(text.slice(at))?.[0];
      if (name === undefined) throw refuse();
      at += name.length;
      return new Map([[name, rest()]]);
    }
    if (text[at] !== "(") return true;
    at += 1;
    const inner = list();
    if (text[at] !== ")") throw refuse();
    at += 1;
    return inner;
  }

  const selection = list();
  if (at !== text.length) throw refuse();
  return selection;
}

/** Returns the selected fields of a value; refuses a field that this kind of value never has. */
export function select(value: unknown, selection: Selection | true): unknown {
  if (selection === true) return value;
  if (Array.isArray(value)) return value.map((one) => select(one, selection));
  const known = value as Readonly<Record<string, unknown>>;
  const found: Record<string, unknown> = {};
  for (const [name, inner] of selection) {
    if (!(name in known))
      throw new Refusal(400, "invalidParameter", `Invalid field selection ${name}`);
    // A member that this item does not have is left out.
    if (known[name] !== undefined) found[name] = select(known[name], inner);
  }
  return found;
}
