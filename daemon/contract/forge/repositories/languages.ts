import { z } from "zod";
import { resource } from "../resource.ts";
import { anyoneWithin } from "../../endpoint.ts";
import { repository } from "../../permission.ts";
import { repositoryParams } from "./repositories.ts";

export const languageEndpoints = resource(
  {
    name: "forge.repos",
    path: "/api/v1/repos/:owner/:repo/languages",
    params: repositoryParams,
    shape: z.record(z.string(), z.int()),
    gate: anyoneWithin("repository"),
    on: repository("code", "read", { evenOff: true }),
  },
  ({ get }) => ({
    listLanguages: get(
      "The bytes of a repository's default branch by programming language, the most first",
      { as: "languages" },
    ),
  }),
);
