import { z } from "zod";
import { resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { anyoneWithin } from "../../endpoint.ts";
import { optionalQueryFlag, queryText } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { contentsShape } from "./contents.ts";
import { commitShape, readLimit, shaParams } from "./shapes.ts";

// Further ways to read files: in parts, several at once, the `.editorconfig` settings of a file, and the note of a
// commit.

const params = repositoryParams.extend({ filepath: z.string() });
const query = z.object({ ref: queryText });

/** Files that one request reads. */
const READ_FILES_MAX = 30;
const filesToRead = z.array(z.string()).max(READ_FILES_MAX, { error: "MaxSize" });

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller refuses text that is not JSON.
    return undefined;
  }
}

export const severalFilesEndpoints = {
  ...resource(
    {
      name: "forge.repos.files",
      path: "/api/v1/repos/:owner/:repo/file-contents",
      params: repositoryParams,
      gate: anyoneWithin("repository"),
      on: repository("code", "read"),
      acceptsArchived: true,
      limit: readLimit,
      refuses: [503],
    },
    ({ operation }) => ({
      getFiles: operation({
        as: "get",
        method: "GET",
        summary:
          'Several files with their contents; `body` is JSON such as {"files":["README.md"]}',
        query: query.extend({
          body: z.string().transform((text, context) => {
            const parsed = z.object({ files: filesToRead }).safeParse(parseJson(text));
            if (parsed.success) return parsed.data;
            context.addIssue({ code: "custom", message: "body must be JSON with a list of files" });
            return z.NEVER;
          }),
        }),
        replies: { 200: z.array(contentsShape.nullable()) },
        refuses: [422],
        apiOnly: '"croft repo cat" prints files',
      }),
      readFiles: operation({
        as: "read",
        method: "POST",
        summary: "Several files with their contents",
        query,
        body: z.object({ files: filesToRead }),
        replies: { 200: z.array(contentsShape.nullable()) },
        apiOnly: '"croft repo cat" prints files',
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.editorconfig",
      path: "/api/v1/repos/:owner/:repo/editorconfig/**:filepath",
      params,
      shape: z.record(z.string(), z.string()),
      gate: anyoneWithin("repository"),
      on: repository("code", "read"),
      limit: readLimit,
    },
    ({ get }) => ({
      /** The values of `.editorconfig` for a file, by their names there. */
      getEditorConfig: get("The settings of a repository's .editorconfig for a file", {
        query,
        refuses: [422, 503],
        apiOnly: "for editors",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.git.notes",
      path: "/api/v1/repos/:owner/:repo/git/notes/**:sha",
      params: shaParams,
      shape: z.object({ message: z.string(), commit: commitShape }),
      gate: anyoneWithin("repository"),
      on: repository("code", "read"),
      limit: readLimit,
    },
    ({ get }) => ({
      getNote: get("The note of a commit, with the commit that wrote it", {
        query: z.object({ verification: optionalQueryFlag, files: optionalQueryFlag }),
        refuses: [422, 503],
        apiOnly: "git notes shows them in a clone",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.licenses",
      path: "/api/v1/repos/:owner/:repo/licenses",
      params: repositoryParams,
      gate: anyoneWithin("repository"),
      on: repository("code", "read"),
      limit: readLimit,
      refuses: [503],
    },
    ({ operation }) => ({
      listRepositoryLicenses: operation({
        as: "list",
        method: "GET",
        summary: "The SPDX identifiers of the licenses in the default branch",
        replies: { 200: z.array(z.string()) },
        apiOnly: '"croft repo cat" prints the text of a license',
      }),
    }),
  ),
};
