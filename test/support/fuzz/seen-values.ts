import { existing } from "./fuzz-home.ts";

/** The values by which objects are named in paths, as far as answers have shown them. */
export type SeenValues = ReturnType<typeof createSeenValues>;

/** Most values of one name of one resource: the newest count. */
const VALUES_MAX = 12;

/** Remembers names and ids in answers, by resource. */
export function createSeenValues() {
  const byPlace = new Map<string, string[]>();

  function remember(place: string, value: string): void {
    const values = byPlace.get(place) ?? [];
    if (values.includes(value)) return;
    values.push(value);
    if (values.length > VALUES_MAX) values.shift();
    byPlace.set(place, values);
  }

  function read(tag: string, value: unknown, depth: number): void {
    if (typeof value !== "object" || value === null || depth > 4) return;
    if (Array.isArray(value)) {
      for (const each of value.slice(0, VALUES_MAX)) read(tag, each, depth + 1);
      return;
    }
    for (const [name, member] of Object.entries(value)) {
      const link = typeof member === "string" && /\/([sr])\/([\w-]{32})$/.exec(member);
      if (link) remember(`links/${link[1] === "s" ? "download" : "upload"} secret`, link[2] ?? "");
      if (typeof member === "number" || (typeof member === "string" && member.length < 300))
        remember(`${tag} ${name}`, String(member));
      else read(tag, member, depth + 1);
    }
  }

  return {
    /** Remembers what an answer of a resource names. */
    read: (tag: string, json: unknown) => read(tag, json, 0),

    /** Returns one of the values for a parameter of a path, by its place among them. */
    choose(tag: string, name: string, pick: number): string | undefined {
      const values = [
        ...(existing[name] ?? []),
        ...sourcesOf(name).flatMap((source) => byPlace.get(`${tag} ${source}`) ?? []),
        ...(tag === "issues/comments" || existing[name] !== undefined
          ? []
          : sourcesOf(name).flatMap((source) => byPlace.get(`${toNoun(name)} ${source}`) ?? [])),
      ];
      return values[pick % Math.max(values.length, 1)];
    },
  };
}

/** The members of answers that hold the values of a parameter. */
function sourcesOf(name: string): readonly string[] {
  if (name === "index") return ["number", "index"];
  if (name.endsWith("_id")) return [name, "id"];
  return [name, "id", "sha", "uuid", "name"];
}

/** The resource that a parameter names, where the operation belongs to another one. */
function toNoun(name: string): string {
  const nouns: Readonly<Record<string, string>> = {
    connection_id: "cloud/connections",
    document_id: "documents",
    item_id: "cloud/items",
    index: "issues",
    team: "orgs/teams",
    run: "repos/actions",
    job_id: "repos/actions",
    sha: "repos/commits",
    attachment: "issues/attachments",
  };
  return nouns[name] ?? name;
}
