import { Buffer } from "node:buffer";
import type { JsonObject } from "../json.ts";
import type { Failure } from "../outcomes.ts";
import type { ProbeResult } from "../provider.ts";

/** The names that a server forbids, as members of a probe result: lists are joined by slashes, in lower case. */
export interface NameRules extends ProbeResult {
  /** Characters, concatenated. */
  readonly forbidden: string;
  readonly forbidden_names: string;
  /** Names up to their first dot. */
  readonly forbidden_basenames: string;
  readonly forbidden_endings: string;
}

/** Maximum length of a name in bytes: the server reserves the rest of 255 for itself. */
const NAME_BYTES_MAX = 250;

/** Parses the capabilities of files. Servers before Nextcloud 30 announce fewer rules. */
export function toNameRules(files: JsonObject | undefined): NameRules {
  const list = (key: string) => {
    const value = files?.[key];
    return Array.isArray(value) ? value.filter((each) => typeof each === "string") : undefined;
  };
  const join = (texts: readonly string[] = []) => texts.join("/").toLowerCase();
  return {
    forbidden: list("forbidden_filename_characters")?.join("") ?? "\\",
    forbidden_names: join(list("forbidden_filenames") ?? list("blacklisted_files")),
    forbidden_basenames: join(list("forbidden_filename_basenames")),
    forbidden_endings: join(list("forbidden_filename_extensions")),
  };
}

/**
 * Refuses a name that the server forbids, without a request. The server reports a file of some of these names although
 * there is none.
 */
export function refuseName(name: string, rules: NameRules): Failure | undefined {
  if ([...rules.forbidden].some((character) => name.includes(character)))
    return { kind: "invalid_name", rule: "forbidden_character" };
  const folded = name.toLowerCase();
  const dot = folded.indexOf(".", 1);
  const basename = dot === -1 ? folded : folded.slice(0, dot);
  if (
    split(rules.forbidden_names).includes(folded) ||
    split(rules.forbidden_basenames).includes(basename) ||
    split(rules.forbidden_endings).some((ending) => folded.endsWith(ending))
  )
    return { kind: "invalid_name", rule: "forbidden_name" };
  return Buffer.byteLength(name) > NAME_BYTES_MAX
    ? { kind: "invalid_name", rule: "too_long" }
    : undefined;
}

function split(texts: string): readonly string[] {
  return texts.split("/").filter((text) => text !== "");
}
