import { z } from "zod";
import { bytes, empty, stream } from "../../endpoint.ts";
import { packagesOfOwner } from "../../permission.ts";
import { openTo, resource } from "../resource.ts";
import { toolError } from "./tool-error.ts";

// The upload API of PyPI, and the simple repository API (PEP 503, PEP 691, PEP 700).

const apiOnly = "twine, pip and uv speak it";
const params = z.object({ owner: z.string() });
/** A registry has no 422. */
const refused = [400, 401, 403, 404] as const;
const reading = { refusesOnly: refused, apiOnly } as const;

export const pypiEndpoints = resource(
  {
    name: "forge.packages.pypi",
    path: "/api/packages/:owner/pypi",
    params,
    gate: openTo("package"),
    on: packagesOfOwner,
    refusal: toolError,
  },
  ({ operation }) => ({
    uploadPypiFile: operation({
      as: "upload",
      method: "POST",
      summary: "Upload a wheel or a source archive, in the form that twine sends",
      body: stream("multipart/form-data"),
      replies: { 201: empty },
      refusesOnly: [...refused, 409, 413, 507],
      apiOnly,
    }),
    listPypiProjects: operation({
      as: "index",
      method: "GET",
      at: "simple",
      summary: "The names of the projects, as HTML or JSON",
      replies: { 200: bytes },
      ...reading,
    }),
    getPypiProject: operation({
      as: "project",
      method: "GET",
      at: "simple/:name",
      params: params.extend({ name: z.string() }),
      summary: "The files of a project, as HTML or JSON",
      replies: { 200: bytes },
      ...reading,
    }),
    downloadPypiFile: operation({
      as: "download",
      method: "GET",
      at: "files/:name/:version/:filename",
      params: params.extend({ name: z.string(), version: z.string(), filename: z.string() }),
      summary: "A file of a project; ranges are served",
      replies: { 200: bytes },
      refusesOnly: [...refused, 503],
      apiOnly,
    }),
  }),
);
