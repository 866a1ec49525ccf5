import type { z } from "zod";
import type {
  gitignoreTemplate,
  labelTemplate,
  licenseListEntry,
  licenseTemplate,
} from "../../contract/forge/templates.ts";
import { type ForgeUrls, toApiUrl } from "../urls.ts";
import type { Label } from "./label-sets.ts";

/** The same advice for every license. */
const implementation =
  "Create a text file (typically named LICENSE or LICENSE.txt) in the root of your source code and copy the text of the license into the file";

export function toGitignoreView(name: string, source: string): z.input<typeof gitignoreTemplate> {
  return { name, source };
}

export function toLabelView({
  name,
  exclusive,
  color,
  description,
}: Label): z.input<typeof labelTemplate> {
  return { name, exclusive, color, description };
}

export function toLicenseEntryView(urls: ForgeUrls, key: string): z.input<typeof licenseListEntry> {
  return { key, name: key, url: toApiUrl(urls, `/licenses/${encodeURIComponent(key)}`) };
}

export function toLicenseView(
  urls: ForgeUrls,
  key: string,
  body: string,
): z.input<typeof licenseTemplate> {
  return { ...toLicenseEntryView(urls, key), implementation, body };
}
