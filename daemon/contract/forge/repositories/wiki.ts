import { z } from "zod";
import { repository } from "../../permission.ts";
import { anyoneWithin, bytes, encodedText } from "../../endpoint.ts";
import { commitUserShape, readLimit, writeLimit } from "../code/shapes.ts";
import { optionalText, paging, queryText } from "../common.ts";
import { openTo, resource } from "../resource.ts";
import { repositoryParams } from "./repositories.ts";

const TITLE_MAX = 255;
const MESSAGE_MAX = 65_536;
/** A body of base64; the content is three quarters of it. */
const BODY_BYTES_MAX = 16 * 1024 * 1024;

const wikiCommitShape = z.object({
  sha: z.string(),
  author: commitUserShape,
  /** Spelled as Gitea does. */
  commiter: commitUserShape,
  message: z.string(),
});
export type WireWikiCommit = z.output<typeof wikiCommitShape>;

const wikiPageMetaShape = z.object({
  title: z.string(),
  html_url: z.string(),
  /** The name of the page in addresses, percent-encoded. */
  sub_url: z.string(),
  last_commit: wikiCommitShape,
});
export type WireWikiPageMeta = z.output<typeof wikiPageMetaShape>;

const wikiPageShape = wikiPageMetaShape.extend({
  /** Empty for a page of more than 10 MiB. */
  content_base64: z.string(),
  commit_count: z.int(),
  /** Base64 of the pages that are shown beside every page; empty without them. */
  sidebar: z.string(),
  footer: z.string(),
});
export type WireWikiPage = z.output<typeof wikiPageShape>;

const wikiCommitsShape = z.object({ commits: z.array(wikiCommitShape), count: z.int() });

const body = z.object({
  title: optionalText({ max: TITLE_MAX }),
  content_base64: optionalText(),
  message: optionalText({ max: MESSAGE_MAX }),
});
export type WikiPageBody = z.output<typeof body>;

const on = { read: repository("wiki", "read"), change: repository("wiki", "write") } as const;

export const wikiEndpoints = {
  ...resource(
    {
      name: "forge.repos.wiki",
      path: "/api/v1/repos/:owner/:repo/wiki/page",
      params: repositoryParams,
      /** As `sub_url` has it. */
      id: { name: encodedText },
      shape: wikiPageShape,
      gate: openTo("repository"),
      on,
      refuses: [503],
    },
    ({ get, edit, remove }) => ({
      getWikiPage: get("A page of a wiki, with its sidebar and footer", { limit: readLimit }),
      editWikiPage: edit("Change a page of a wiki; what is absent stays", body, {
        limit: writeLimit,
        refuses: [400, 409, 412, 413],
        maxBodyBytes: BODY_BYTES_MAX,
      }),
      deleteWikiPage: remove("Delete a page of a wiki", {
        limit: writeLimit,
        refuses: [409, 412],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.wiki",
      path: "/api/v1/repos/:owner/:repo/wiki",
      params: repositoryParams,
      shape: wikiPageMetaShape,
      gate: openTo("repository"),
      on,
      refuses: [503],
    },
    ({ list, operation }) => ({
      listWikiPages: list("Pages of a wiki, by the names of their files", {
        at: "pages",
        limit: readLimit,
      }),
      createWikiPage: operation({
        as: "create",
        method: "POST",
        at: "new",
        summary: "Create a page of a wiki, and with the first one the wiki",
        body,
        replies: { 201: wikiPageShape },
        limit: writeLimit,
        refuses: [400, 409, 413],
        maxBodyBytes: BODY_BYTES_MAX,
      }),
      listWikiRevisions: operation({
        as: "revisions",
        method: "GET",
        at: "revisions/:name",
        params: repositoryParams.extend({ name: encodedText }),
        summary: "The commits that changed a page of a wiki, newest first",
        query: z.object(paging),
        paging: "link_and_total",
        replies: { 200: wikiCommitsShape },
        limit: readLimit,
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.wiki",
      path: "/api/v1/repos/:owner/:repo/wiki/raw/**:file",
      params: repositoryParams.extend({ file: z.string() }),
      gate: anyoneWithin("repository"),
      on: repository("wiki", "read"),
      limit: readLimit,
      refuses: [503],
    },
    ({ operation }) => ({
      getWikiFile: operation({
        as: "raw",
        method: "GET",
        summary: "The bytes of a file of a wiki, such as a picture, or of a page",
        /** The id of a commit of the wiki; the newest one when it is empty. */
        query: z.object({ ref: queryText }),
        replies: { 200: bytes },
        apiOnly: "git clones the files of a wiki; its pages show its pictures",
      }),
    }),
  ),
};
