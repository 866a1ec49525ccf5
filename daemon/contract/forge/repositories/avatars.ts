import { empty, forgeUser } from "../../endpoint.ts";
import { repository } from "../../permission.ts";
import { avatarBody, avatarBodyBytesMax } from "../accounts/avatars.ts";
import { resource } from "../resource.ts";
import { repositoryParams } from "./repositories.ts";

export const repositoryAvatarEndpoints = resource(
  {
    name: "forge.repos.avatar",
    path: "/api/v1/repos/:owner/:repo/avatar",
    params: repositoryParams,
    gate: forgeUser("repository"),
    on: repository("any", "admin"),
  },
  ({ operation }) => ({
    setRepositoryAvatar: operation({
      as: "set",
      method: "POST",
      summary: "Set the picture of a repository: PNG, JPEG, GIF or WebP in base64",
      body: avatarBody,
      replies: { 204: empty },
      refuses: [400, 413],
      maxBodyBytes: avatarBodyBytesMax,
    }),
    deleteRepositoryAvatar: operation({
      as: "delete",
      method: "DELETE",
      summary: "Delete the picture of a repository",
      replies: { 204: empty },
    }),
  }),
);
