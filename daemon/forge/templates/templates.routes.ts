import { templateEndpoints } from "../../contract/forge/templates.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
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
  return [
    handle(templateEndpoints.listGitignoreTemplates, async () => ({
      status: 200,
      body: [...(await templates.listIgnoreFiles())],
    })),
    handle(templateEndpoints.getGitignoreTemplate, async ({ params }) => {
      const name = toPlainName(params.name);
      return {
        status: 200,
        body: toGitignoreView(name, orNotFound(await templates.findIgnoreFile(name))),
      };
    }),
    handle(templateEndpoints.listLabelTemplates, async () => ({
      status: 200,
      body: [...(await templates.listLabelSets())],
    })),
    handle(templateEndpoints.getLabelTemplate, async ({ params: { name } }) => ({
      status: 200,
      body: orNotFound(await templates.findLabelSet(name)).map(toLabelView),
    })),
    handle(templateEndpoints.listLicenseTemplates, async () => ({
      status: 200,
      body: (await templates.listLicenses()).map((key) => toLicenseEntryView(urls, key)),
    })),
    handle(templateEndpoints.getLicenseTemplate, async ({ params: { name } }) => ({
      status: 200,
      body: toLicenseView(urls, name, orNotFound(await templates.findLicense(name))),
    })),
  ];
}

/** Cleans a path: `/Go` and `.\\Go` are `Go`. `..` segments remain, and match no template. */
function toPlainName(path: string): string {
  const parts = path.replaceAll("\\", "/").split("/");
  return parts.filter((part) => part !== "" && part !== ".").join("/");
}
