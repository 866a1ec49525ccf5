import { z } from "zod";
import { openTo, resource } from "../resource.ts";
import { bytes, empty, stream } from "../../endpoint.ts";
import { packagesOfOwner } from "../../permission.ts";
import { toolError, toolRefusals } from "./tool-error.ts";

const spokenByTools = "build tools and curl transfer packages themselves";

const versionParams = z.object({ owner: z.string(), name: z.string(), version: z.string() });

export const genericPackageEndpoints = resource(
  {
    name: "forge.packages.generic",
    path: "/api/packages/:owner/generic/:name/:version",
    params: versionParams,
    id: { filename: z.string() },
    gate: openTo("package"),
    on: packagesOfOwner,
  },
  ({ operation }) => ({
    downloadGenericFile: operation({
      as: "download",
      method: "GET",
      item: true,
      summary: "A file of a generic package; ranges are served",
      replies: { 200: bytes, ...toolRefusals, 503: toolError },
      refusesOnly: [],
      apiOnly: spokenByTools,
    }),
    uploadGenericFile: operation({
      as: "upload",
      method: "PUT",
      item: true,
      summary:
        "Add a file to a version of a generic package; package and version are made when missing",
      body: stream("application/octet-stream"),
      replies: { 201: empty, ...toolRefusals, 409: toolError, 413: toolError, 507: toolError },
      refusesOnly: [],
      apiOnly: spokenByTools,
    }),
    deleteGenericFile: operation({
      as: "delete_file",
      method: "DELETE",
      item: true,
      summary: "Delete a file of a generic package, and the version with its last file",
      replies: { 204: empty, ...toolRefusals },
      refusesOnly: [],
      apiOnly: spokenByTools,
    }),
    deleteGenericVersion: operation({
      as: "delete_version",
      method: "DELETE",
      summary: "Delete a version of a generic package",
      replies: { 204: empty, ...toolRefusals },
      refusesOnly: [],
      apiOnly: spokenByTools,
    }),
  }),
);
