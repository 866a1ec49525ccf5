import type { z } from "zod";
import type { searchResultShape } from "../../../contract/forge/packages/npm.ts";
import { type ForgeUrls, toUrl } from "../../urls.ts";
import { findLatest, type NpmPackage } from "./packument.ts";

/** Converts packages to the response that `npm search` reads. */
export function toSearchResult(
  found: { readonly packages: readonly NpmPackage[]; readonly total: number },
  now: number,
  urls: ForgeUrls,
): z.input<typeof searchResultShape> {
  return {
    objects: found.packages.flatMap((npm) => {
      const latest = findLatest(npm);
      if (latest === undefined) return [];
      const { description, keywords } = latest.metadata.manifest;
      const owner = { username: npm.ownerName };
      const path = `/api/packages/${npm.ownerName}/npm/${npm.package.name}`;
      return {
        package: {
          name: npm.package.name,
          version: latest.record.version,
          description: typeof description === "string" ? description : "",
          keywords: Array.isArray(keywords) ? keywords.filter(isText) : [],
          date: new Date(latest.record.createdAt).toISOString(),
          links: { registry: toUrl(urls, path) },
          publisher: owner,
          maintainers: [owner],
        },
      };
    }),
    total: found.total,
    time: new Date(now).toUTCString(),
  };
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
