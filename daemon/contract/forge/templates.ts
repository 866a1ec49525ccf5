import { z } from "zod";
import { anyone, endpoint } from "../endpoint.ts";
import { apiError } from "./common.ts";

const templateParams = z.object({ name: z.string() });

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

export const listGitignoreTemplates = endpoint({
  name: "forge.templates.gitignore.list",
  method: "GET",
  path: "/api/v1/gitignore/templates",
  summary: "Names of the ignore-file templates",
  gate: anyone,
  replies: { 200: z.array(z.string()), 401: apiError },
});

export const getGitignoreTemplate = endpoint({
  name: "forge.templates.gitignore.get",
  method: "GET",
  path: "/api/v1/gitignore/templates/:name",
  summary: "One ignore-file template",
  gate: anyone,
  params: templateParams,
  isTransient: true,
  replies: { 200: gitignoreTemplate, 401: apiError, 404: apiError },
});

export const listLabelTemplates = endpoint({
  name: "forge.templates.label.list",
  method: "GET",
  path: "/api/v1/label/templates",
  summary: "Names of the label sets",
  gate: anyone,
  replies: { 200: z.array(z.string()), 401: apiError },
});

export const getLabelTemplate = endpoint({
  name: "forge.templates.label.get",
  method: "GET",
  path: "/api/v1/label/templates/:name",
  summary: "All labels of a set",
  gate: anyone,
  params: templateParams,
  isTransient: true,
  replies: { 200: z.array(labelTemplate), 401: apiError, 404: apiError },
});

export const listLicenseTemplates = endpoint({
  name: "forge.templates.license.list",
  method: "GET",
  path: "/api/v1/licenses",
  summary: "The license templates",
  gate: anyone,
  replies: { 200: z.array(licenseListEntry), 401: apiError },
});

export const getLicenseTemplate = endpoint({
  name: "forge.templates.license.get",
  method: "GET",
  path: "/api/v1/licenses/:name",
  summary: "One license template with its text",
  gate: anyone,
  params: templateParams,
  isTransient: true,
  replies: { 200: licenseTemplate, 401: apiError, 404: apiError },
});

export const templateEndpoints = {
  listGitignoreTemplates,
  getGitignoreTemplate,
  listLabelTemplates,
  getLabelTemplate,
  listLicenseTemplates,
  getLicenseTemplate,
};
