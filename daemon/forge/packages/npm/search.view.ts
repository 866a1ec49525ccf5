import type { z } from "zod";
import type { searchResultShape } from "../../../contract/forge/packages/npm.ts";
import { type ForgeUrls, toUrl } from "../../urls.ts";
import type { NpmSearchHit } from "./registry.ts";

/** Converts packages to the response that `npm search` reads. */
export function toSearchResult(
  found: { readonly packages: readonly NpmSearchHit[]; readonly total: number },
  now: number,
  urls: ForgeUrls,
): z.input<typeof searchResultShape> {
  return {
    objects: found.packages.map(({ name, ownerName, latest, summary }) => {
      const owner = { username: ownerName };
      const path = `/api/packages/${ownerName}/npm/${name}`;
      return {
        package: {
          name,
          version: latest.version,
          description: summary.description,
          keywords: [...summary.keywords],
          date: new Date(latest.createdAt).toISOString(),
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
