import { templateEndpoints } from "../../contract/forge/templates.ts";
import type { Route } from "../../http/handle.ts";
import { serve } from "../handle.ts";
import { orNotFound } from "../refusals.ts";
import type { ForgeUrls } from "../urls.ts";
import type { Templates } from "./templates.service.ts";
import {
  toGitignoreView,
  toLabelView,
  toLicenseEntryView,
  toLicenseView,
} from "./templates.view.ts";

/** Routes of templates: open to anonymous callers, never paged. */
export function templateRoutes({
  templates,
  urls,
}: {
  readonly templates: Templates;
  readonly urls: ForgeUrls;
}): Route[] {
  return serve(templateEndpoints, {
    listGitignoreTemplates: async () => [...(await templates.listIgnoreFiles())],
    getGitignoreTemplate: async ({ params }) => {
      const name = toPlainName(params.name);
      return toGitignoreView(name, orNotFound(await templates.findIgnoreFile(name)));
    },
    listLabelTemplates: async () => [...(await templates.listLabelSets())],
    getLabelTemplate: async ({ params: { name } }) =>
      orNotFound(await templates.findLabelSet(name)).map(toLabelView),
    listLicenseTemplates: async () =>
      (await templates.listLicenses()).map((key) => toLicenseEntryView(urls, key)),
    getLicenseTemplate: async ({ params: { name } }) =>
      toLicenseView(urls, name, orNotFound(await templates.findLicense(name))),
  });
}

/** Cleans a path: `/Go` and `.\\Go` are `Go`. `..` segments remain, and match no template. */
function toPlainName(path: string): string {
  const parts = path.replaceAll("\\", "/").split("/");
  return parts.filter((part) => part !== "" && part !== ".").join("/");
}
