import { toTag } from "../../../daemon/http/openapi.ts";
import { existing } from "./fuzz-home.ts";

/** The values by which objects are named in paths, as far as answers have shown them. */
export type SeenValues = ReturnType<typeof createSeenValues>;

/** Most values of one name of one resource: the newest count. */
const VALUES_MAX = 12;

/** Remembers names and ids in answers, by the resource of the operation that gave them. */
export function createSeenValues() {
  const byPlace = new Map<string, string[]>();

  function remember(place: string, value: string): void {
    const values = byPlace.get(place) ?? [];
    if (values.includes(value)) return;
    values.push(value);
    if (values.length > VALUES_MAX) values.shift();
    byPlace.set(place, values);
  }

  function read(resource: string, value: unknown, depth: number): void {
    if (typeof value !== "object" || value === null || depth > 4) return;
    if (Array.isArray(value)) {
      for (const each of value.slice(0, VALUES_MAX)) read(resource, each, depth + 1);
      return;
    }
    for (const [name, member] of Object.entries(value)) {
      const link = typeof member === "string" && /\/([sr])\/([\w-]{32})$/.exec(member);
      if (link)
        remember(`vault/links/${link[1] === "s" ? "download" : "upload"} secret`, link[2] ?? "");
      if (typeof member === "number" || (typeof member === "string" && member.length < 300))
        remember(`${resource} ${name}`, String(member));
      else read(resource, member, depth + 1);
    }
  }

  const valuesAt = (resource: string, name: string) =>
    sourcesOf(name).flatMap((source) => byPlace.get(`${resource} ${source}`) ?? []);

  return {
    /** Remembers what an answer of an operation names. */
    read: (operation: string, json: unknown) => read(toResource(operation), json, 0),

    /** Returns one of the values for a parameter of an operation's path, by its place among them. */
    choose(operation: string, name: string, pick: number): string | undefined {
      const own = toResource(operation);
      const named = toNamedResource(own, name);
      const values = [
        ...(existing[name] ?? []),
        ...(named === undefined ? [] : valuesAt(named, name)),
        // Last: `id` is that of another object where the parameter names a resource.
        ...valuesAt(own, name),
      ];
      return values[pick % Math.max(values.length, 1)];
    },
  };
}

/** The resource of an operation, with its API: both have topics. */
const toResource = (operation: string) => `${operation.split(".", 1)[0]}/${toTag(operation)}`;

/** The members of answers that hold the values of a parameter. */
function sourcesOf(name: string): readonly string[] {
  if (name === "index") return ["number", "index"];
  if (name.endsWith("_id")) return [name, "id"];
  return [name, "id", "sha", "uuid", "name"];
}

/** The resource that a parameter names, where the operation belongs to another one. */
const namedResources: Readonly<Record<string, string>> = {
  connection_id: "vault/cloud/connections",
  document_id: "vault/documents",
  item_id: "vault/cloud/items",
  topic_id: "vault/topics",
  invitation_id: "vault/admin/invitations",
  index: "forge/issues",
  team: "forge/orgs/teams",
  run: "forge/repos/actions",
  job_id: "forge/repos/actions",
  attachment: "forge/issues/attachments",
};

function toNamedResource(own: string, name: string): string | undefined {
  // The ids of comments and of reviews of a repository are listed by others.
  if (name === "id" && own === "forge/pulls/review_lines") return "forge/pulls/reviews";
  if (name === "sha") return "forge/repos/commits";
  return namedResources[name];
}
