import { z } from "zod";
import { resource } from "../resource.ts";
import { forgeUser } from "../../endpoint.ts";
import { repository } from "../../permission.ts";
import {
  optionalFlag,
  pathInteger,
  queryInteger,
  queryText,
  requiredText,
  wireId,
  wireTime,
} from "../common.ts";
import { repositoryParams, repositoryShape } from "./repositories.ts";

/** A key that opens one repository. */
const deployKeyShape = z.object({
  id: wireId,
  /** The same for one key in several repositories. */
  key_id: wireId,
  key: z.string(),
  url: z.string(),
  title: z.string(),
  fingerprint: z.string(),
  created_at: wireTime,
  read_only: z.boolean(),
  /** With the permissions of the key; left out of the answer to a creation. */
  repository: repositoryShape.optional(),
});
export type WireDeployKey = z.output<typeof deployKeyShape>;

export const deployKeyEndpoints = resource(
  {
    name: "forge.repos.keys",
    path: "/api/v1/repos/:owner/:repo/keys",
    params: repositoryParams,
    id: { id: pathInteger },
    shape: deployKeyShape,
    gate: forgeUser("repository"),
    on: repository("any", "admin"),
  },
  ({ list, create, get, remove }) => ({
    listDeployKeys: list("The deploy keys of a repository, the oldest first", {
      filters: { key_id: queryInteger, fingerprint: queryText },
      refuses: [422],
    }),
    getDeployKey: get("A deploy key of a repository"),
    addDeployKey: create(
      "Add a deploy key to a repository",
      z.object({ title: requiredText(), key: requiredText(), read_only: optionalFlag }),
      { as: "add" },
    ),
    deleteDeployKey: remove("Delete a deploy key; succeeds for an unknown one", {
      // It ends an access, as the removal of a collaborator does.
      acceptsArchived: true,
    }),
  }),
);
