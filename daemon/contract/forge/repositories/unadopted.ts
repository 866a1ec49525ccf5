import { z } from "zod";
import { empty, endpoint, siteAdminOfAll } from "../../endpoint.ts";
import { apiError, paging, queryText, signedInReplies } from "../common.ts";
import { repositoryParams } from "./repositories.ts";

export const listUnadopted = endpoint({
  name: "forge.admin.unadopted.list",
  method: "GET",
  path: "/api/v1/admin/unadopted",
  summary: "Repositories that lie on disk without a record, as owner/name",
  gate: siteAdminOfAll,
  query: z.object({ query: queryText, ...paging }),
  paging: "total",
  replies: { 200: z.array(z.string()), ...signedInReplies, 422: apiError },
});

export const adoptRepository = endpoint({
  name: "forge.admin.unadopted.adopt",
  method: "POST",
  path: "/api/v1/admin/unadopted/:owner/:repo",
  summary: "Make a repository of files that lie on disk",
  gate: siteAdminOfAll,
  params: repositoryParams,
  replies: { 204: empty, ...signedInReplies, 404: apiError, 422: apiError },
});

export const deleteUnadopted = endpoint({
  name: "forge.admin.unadopted.delete",
  method: "DELETE",
  path: "/api/v1/admin/unadopted/:owner/:repo",
  summary: "Delete the files of a repository without a record",
  gate: siteAdminOfAll,
  params: repositoryParams,
  replies: { 204: empty, ...signedInReplies, 404: apiError },
});

export const unadoptedEndpoints = { listUnadopted, adoptRepository, deleteUnadopted };
