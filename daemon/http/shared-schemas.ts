type Json = Record<string, unknown>;

/** The status of a refusal or failure, which all operations describe alike. */
const REFUSAL = /^[45]\d\d$/;

/** Smaller schemas are easier to read where they are used. */
const SHARED_LENGTH_MIN = 120;

/**
 * Writes each object schema of a document once that occurs several times: as a component with the name of the member, or of
 * the subject, where it occurs first. Show it every part with `look`, then exchange the parts by what `share` returns.
 */
export function createSharedSchemas() {
  const counts = new Map<string, { count: number; readonly name: string }>();
  const names = new Map<string, string>();
  const taken = new Set<string>();
  const components: Json = {};

  function look(node: unknown, name: string): void {
    if (typeof node !== "object" || node === null) return;
    const text = toText(node);
    const known = text === undefined ? undefined : counts.get(text);
    if (known !== undefined) {
      // Schemas within it are written once by that.
      known.count += 1;
      return;
    }
    if (text !== undefined) counts.set(text, { count: 1, name });
    for (const [key, value] of Object.entries(node))
      if (key === "properties") lookAtMembers(value as Json);
      else look(value, REFUSAL.test(key) ? "Error" : name);
  }

  function lookAtMembers(members: Json): void {
    for (const [key, value] of Object.entries(members)) look(value, toTypeName(key));
  }

  function share(node: unknown): unknown {
    if (Array.isArray(node)) return node.map(share);
    if (typeof node !== "object" || node === null) return node;
    const text = toText(node);
    const { count = 0, name = "" } = (text === undefined ? undefined : counts.get(text)) ?? {};
    if (text === undefined || count < 2) return shareMembers(node);
    let shared = names.get(text);
    if (shared === undefined) {
      shared = toFreeName(name);
      names.set(text, shared);
      components[shared] = shareMembers(node);
    }
    return { $ref: `#/components/schemas/${shared}` };
  }

  function shareMembers(node: object): Json {
    return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, share(value)]));
  }

  /** `Label`, or `Label2` for another schema of that name. */
  function toFreeName(name: string): string {
    let free = name;
    for (let number = 2; taken.has(free); number += 1) free = `${name}${number}`;
    taken.add(free);
    return free;
  }

  return { look, share, components };
}

/** The JSON of an object schema that is worth sharing. */
function toText(node: object): string | undefined {
  if (!("type" in node && node.type === "object" && "properties" in node)) return undefined;
  const text = JSON.stringify(node);
  return text.length < SHARED_LENGTH_MIN ? undefined : text;
}

/** A member or subject as the name of a type; a list has the name of one of its items. */
export function toTypeName(name: string): string {
  return name
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== "")
    .map((word) => toSingular(word))
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
}

function toSingular(word: string): string {
  if (/(?:ss|us|is)$/.test(word)) return word;
  if (/ies$/.test(word)) return word.replace(/ies$/, "y");
  return word.replace(/(?:(?<=ch|sh|x|us)es|s)$/, "");
}
