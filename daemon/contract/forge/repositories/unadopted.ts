import { z } from "zod";
import { resource } from "../resource.ts";
import { empty, siteAdminOfAll } from "../../endpoint.ts";
import { paging, queryText } from "../common.ts";
import { repositoryParams } from "./repositories.ts";

export const unadoptedEndpoints = resource(
  {
    name: "forge.admin.unadopted",
    path: "/api/v1/admin/unadopted",
    gate: siteAdminOfAll,
  },
  ({ operation }) => ({
    listUnadopted: operation({
      as: "list",
      method: "GET",
      summary: "Repositories that lie on disk without a record, as owner/name",
      query: z.object({ query: queryText, ...paging }),
      paging: "total",
      replies: { 200: z.array(z.string()) },
      refuses: [422],
    }),
    adoptRepository: operation({
      as: "adopt",
      method: "POST",
      at: ":owner/:repo",
      summary: "Make a repository of files that lie on disk",
      params: repositoryParams,
      replies: { 204: empty },
      refuses: [422],
    }),
    deleteUnadopted: operation({
      as: "delete",
      method: "DELETE",
      at: ":owner/:repo",
      summary: "Delete the files of a repository without a record",
      params: repositoryParams,
      replies: { 204: empty },
    }),
  }),
);
