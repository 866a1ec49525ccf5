import { z } from "zod";
import type { ManifestForms } from "../../../../storage/tables/forge/packages/manifests.ts";
import { README_CHARACTERS_MAX } from "../npm/manifest.ts";

/** The stored metadata of a version, from the form of its first file. */
export const pypiMetadataSchema = z.object({
  summary: z.string().default(""),
  author: z.string().default(""),
  license: z.string().default(""),
  homePage: z.string().default(""),
  projectUrls: z.array(z.string()).default([]),
  keywords: z.string().default(""),
  requiresPython: z.string().default(""),
  requiresDist: z.array(z.string()).default([]),
  /** The description of the project, its README. */
  readme: z.string().default(""),
  /** Media type of the readme, such as `text/markdown`. */
  readmeType: z.string().default(""),
});
export type PypiMetadata = z.output<typeof pypiMetadataSchema>;

/** The part of the metadata that the list of a project's files shows. */
export const pypiInstallSchema = z.object({ requiresPython: z.string().default("") });

/** Maximum characters of a line of the metadata, and number of lines of a kind. */
const LINE_MAX = 1_000;
const LINES_MAX = 200;

/** Returns the metadata of a form, cut to its bounds. */
export function toPypiMetadata(fields: ReadonlyMap<string, readonly string[]>): PypiMetadata {
  const all = (name: string) => (fields.get(name) ?? []).slice(0, LINES_MAX).map(toLine);
  const first = (name: string) => all(name)[0] ?? "";
  return {
    summary: first("summary"),
    author: first("author") || first("author_email"),
    license: first("license_expression") || first("license"),
    homePage: first("home_page"),
    projectUrls: all("project_urls"),
    keywords: first("keywords"),
    requiresPython: first("requires_python"),
    requiresDist: all("requires_dist"),
    readme: (fields.get("description")?.[0] ?? "").slice(0, README_CHARACTERS_MAX).toWellFormed(),
    readmeType: first("description_content_type"),
  };
}

const toLine = (text: string): string =>
  text
    .replace(/\p{Cc}+/gu, " ")
    .slice(0, LINE_MAX)
    .toWellFormed()
    .trim();

/** Returns the addresses of a version's metadata: the home page, and those of `project_urls`, which are `label, address`. */
export function listAddresses({ homePage, projectUrls }: PypiMetadata): string[] {
  const urls = projectUrls.map((line) => line.slice(line.indexOf(",") + 1).trim());
  return [homePage, ...urls].filter((url) => url !== "");
}

/** Returns the forms of stored metadata, as JSON. */
export function toPypiForms(metadata: PypiMetadata): ManifestForms {
  const { requiresPython, summary } = metadata;
  return {
    manifestLength: JSON.stringify(metadata).length,
    abbreviated: JSON.stringify({ requiresPython }),
    summary: JSON.stringify({ description: summary, keywords: [] }),
  };
}
