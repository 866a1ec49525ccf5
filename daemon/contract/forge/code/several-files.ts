import { z } from "zod";
import { anyoneWithin, endpoint } from "../../endpoint.ts";
import { apiError, optionalQueryFlag, queryText } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { contentsShape } from "./contents.ts";
import { commitShape, readLimit, refusedReadReplies, shaParams } from "./shapes.ts";

// Further ways to read files: in parts, several at once, the `.editorconfig` settings of a file, and the note of a
// commit.

const params = repositoryParams.extend({ filepath: z.string() });
const query = z.object({ ref: queryText });

/** Files that one request reads. */
const READ_FILES_MAX = 30;
const filesToRead = z.array(z.string()).max(READ_FILES_MAX, { error: "MaxSize" });
/** In the order of the request; null for a path without a file. */
const readReplies = {
  200: z.array(contentsShape.nullable()),
  ...refusedReadReplies,
  422: apiError,
};

export const getFiles = endpoint({
  name: "forge.repos.files.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/file-contents",
  summary: 'Several files with their contents; `body` is JSON such as {"files":["README.md"]}',
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params: repositoryParams,
  query: query.extend({
    body: z.string().transform((text, context) => {
      const parsed = z.object({ files: filesToRead }).safeParse(parseJson(text));
      if (parsed.success) return parsed.data;
      context.addIssue({ code: "custom", message: "body must be JSON with a list of files" });
      return z.NEVER;
    }),
  }),
  replies: readReplies,
  apiOnly: '"croft repo cat" prints files',
});

export const readFiles = endpoint({
  name: "forge.repos.files.read",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/file-contents",
  summary: "Several files with their contents",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params: repositoryParams,
  query,
  body: z.object({ files: filesToRead }),
  replies: readReplies,
  apiOnly: '"croft repo cat" prints files',
});

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller refuses text that is not JSON.
    return undefined;
  }
}

/** The values of `.editorconfig` for a file, by their names there. */
export const getEditorConfig = endpoint({
  name: "forge.repos.editorconfig.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/editorconfig/**:filepath",
  summary: "The settings of a repository's .editorconfig for a file",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params,
  query,
  replies: { 200: z.record(z.string(), z.string()), ...refusedReadReplies, 422: apiError },
  apiOnly: "for editors",
});

export const getNote = endpoint({
  name: "forge.repos.git.notes.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/git/notes/**:sha",
  summary: "The note of a commit, with the commit that wrote it",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params: shaParams,
  query: z.object({ verification: optionalQueryFlag, files: optionalQueryFlag }),
  replies: {
    200: z.object({ message: z.string(), commit: commitShape }),
    ...refusedReadReplies,
    422: apiError,
  },
  apiOnly: "git notes shows them in a clone",
});

export const severalFilesEndpoints = { getFiles, readFiles, getEditorConfig, getNote };
