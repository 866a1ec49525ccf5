import { z } from "zod";
import { anyoneWithin, bytes, empty, endpoint, forgeUser, stream } from "../../endpoint.ts";
import { toolError, toolRefusals } from "./tool-error.ts";

const spokenByTools = "build tools and curl transfer packages themselves";

const root = "/api/packages/:owner/generic";

const versionParams = z.object({ owner: z.string(), name: z.string(), version: z.string() });
const fileParams = versionParams.extend({ filename: z.string() });

export const downloadGenericFile = endpoint({
  name: "forge.packages.generic.download",
  method: "GET",
  path: `${root}/:name/:version/:filename`,
  summary: "A file of a generic package; ranges are served",
  gate: anyoneWithin("package"),
  params: fileParams,
  replies: { 200: bytes, ...toolRefusals, 503: toolError },
  apiOnly: spokenByTools,
});

export const uploadGenericFile = endpoint({
  name: "forge.packages.generic.upload",
  method: "PUT",
  path: `${root}/:name/:version/:filename`,
  summary:
    "Add a file to a version of a generic package; package and version are made when missing",
  gate: forgeUser("package"),
  params: fileParams,
  body: stream("application/octet-stream"),
  replies: { 201: empty, ...toolRefusals, 409: toolError, 413: toolError, 507: toolError },
  apiOnly: spokenByTools,
});

export const deleteGenericFile = endpoint({
  name: "forge.packages.generic.delete_file",
  method: "DELETE",
  path: `${root}/:name/:version/:filename`,
  summary: "Delete a file of a generic package, and the version with its last file",
  gate: forgeUser("package"),
  params: fileParams,
  replies: { 204: empty, ...toolRefusals },
  apiOnly: spokenByTools,
});

export const deleteGenericVersion = endpoint({
  name: "forge.packages.generic.delete_version",
  method: "DELETE",
  path: `${root}/:name/:version`,
  summary: "Delete a version of a generic package",
  gate: forgeUser("package"),
  params: versionParams,
  replies: { 204: empty, ...toolRefusals },
  apiOnly: spokenByTools,
});

export const genericPackageEndpoints = {
  downloadGenericFile,
  uploadGenericFile,
  deleteGenericFile,
  deleteGenericVersion,
};
