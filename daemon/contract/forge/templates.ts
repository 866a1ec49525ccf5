import { z } from "zod";
import { resource } from "./resource.ts";
import { anyone } from "../endpoint.ts";

/** An ignore file: its name and its text. */
export const gitignoreTemplate = z.object({ name: z.string(), source: z.string() });

/** One label of a set. `color` is six hex digits in lower case. */
export const labelTemplate = z.object({
  name: z.string(),
  exclusive: z.boolean(),
  color: z.string(),
  description: z.string(),
});

export const licenseListEntry = z.object({ key: z.string(), name: z.string(), url: z.string() });

/** A license with its text; placeholders such as the year are not filled in. */
export const licenseTemplate = z.object({
  key: z.string(),
  name: z.string(),
  url: z.string(),
  implementation: z.string(),
  body: z.string(),
});

export const templateEndpoints = {
  ...resource(
    {
      name: "forge.templates.gitignore",
      path: "/api/v1/gitignore/templates",
      id: { name: z.string() },
      shape: gitignoreTemplate,
      gate: anyone,
    },
    ({ get, operation }) => ({
      listGitignoreTemplates: operation({
        as: "list",
        method: "GET",
        summary: "Names of the ignore-file templates",
        replies: { 200: z.array(z.string()) },
      }),
      getGitignoreTemplate: get("One ignore-file template", { isTransient: true }),
    }),
  ),
  ...resource(
    {
      name: "forge.templates.label",
      path: "/api/v1/label/templates",
      id: { name: z.string() },
      gate: anyone,
    },
    ({ operation }) => ({
      listLabelTemplates: operation({
        as: "list",
        method: "GET",
        summary: "Names of the label sets",
        replies: { 200: z.array(z.string()) },
      }),
      getLabelTemplate: operation({
        as: "get",
        method: "GET",
        item: true,
        summary: "All labels of a set",
        replies: { 200: z.array(labelTemplate) },
        isTransient: true,
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.templates.license",
      path: "/api/v1/licenses",
      id: { name: z.string() },
      shape: licenseTemplate,
      gate: anyone,
    },
    ({ get, operation }) => ({
      listLicenseTemplates: operation({
        as: "list",
        method: "GET",
        summary: "The license templates",
        replies: { 200: z.array(licenseListEntry) },
      }),
      getLicenseTemplate: get("One license template with its text", { isTransient: true }),
    }),
  ),
};
