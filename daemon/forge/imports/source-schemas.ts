import { z } from "zod";
import { isWebUrl } from "../../contract/forge/rules.ts";

// Schemas of values that the items of all lists have. Their texts are storable and have a maximum length.

export const TITLE_MAX = 255;
export const BODY_MAX = 262_144;

/** PostgreSQL stores no NUL, and neither engine half a surrogate pair. */
const toStorable = (text: string, max: number): string =>
  Array.from(text.replaceAll("\u0000", "").slice(0, 2 * max))
    .slice(0, max)
    .join("")
    .toWellFormed();

export const text = (max: number) =>
  z
    .string()
    .nullish()
    .transform((value) => toStorable(value ?? "", max));
export const title = z
  .string()
  .transform((value) => toStorable(value.trim(), TITLE_MAX) || "(no title)");

/** The earliest and the latest moment that is taken, so that views can write them. */
const TIMES = { min: 0, max: Date.parse("9999-12-31T00:00:00Z") };
export const moment = z
  .string()
  .transform((value) => Date.parse(value))
  .pipe(z.int().min(TIMES.min).max(TIMES.max));
/** Clients in Go write a time that is not set as the year 1. */
export const optionalMoment = z
  .string()
  .nullish()
  .transform((value) => {
    const at = Date.parse(value ?? "");
    return Number.isInteger(at) && at > TIMES.min && at < TIMES.max ? at : undefined;
  });

export const user = z
  .object({ login: text(100) })
  .nullish()
  .transform((value) => value?.login || "ghost");
/** An imported item of a server that was imported itself names its first author. */
export const originalAuthor = text(100);

/** What a repository says of itself. Texts are empty when they are absent. */
export interface SourceAbout {
  readonly description: string;
  readonly website: string;
  /** As the source has them. */
  readonly topics: readonly string[];
}

const DESCRIPTION_MAX = 2_048;
const ADDRESS_MAX = 1_024;

/** What a repository says of itself: in Gitea's answers `website`, in GitHub's `homepage`. */
export const about = z
  .object({
    description: text(DESCRIPTION_MAX),
    website: text(ADDRESS_MAX),
    homepage: text(ADDRESS_MAX),
    topics: z.array(z.string()).nullish(),
  })
  .transform(({ description, website, homepage, topics }): SourceAbout => {
    const address = website || homepage;
    return { description, website: isWebUrl(address) ? address : "", topics: topics ?? [] };
  });

/** Returns whether a text is the id of a commit. */
export const isCommit = (id: string | null | undefined): id is string =>
  id != null && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(id);
