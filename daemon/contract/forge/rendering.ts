import { z } from "zod";
import { resource } from "./resource.ts";
import { anyone, jsonOrText, perAnonymousAddress, text, wholeBytes } from "../endpoint.ts";
import { apiError, bindingNames, optionalFlag, optionalText } from "./common.ts";

/** Signed-in callers are limited by concurrency and processor time instead, so that a script can render many files. */
const limit = perAnonymousAddress(600, 60);

/** A text of 2 MiB with every character escaped, and the other members. */
const BODY_BYTES_MAX = 13 * 1024 * 1024;

/** Four times the largest text, so that a somewhat larger one is refused with the text of `/markdown`. */
const RAW_BYTES_MAX = 8 * 1024 * 1024;

const html = text("text/html; charset=utf-8");

const member = (form: string, description: string) => {
  const schema = optionalText().meta({ description });
  bindingNames.add(schema, { form });
  return schema;
};

const wiki = optionalFlag.meta({ description: "Mode `wiki`, whatever `mode` is" });
bindingNames.add(wiki, { form: "wiki" });

const markdownMembers = {
  Text: member("text", "The text"),
  Mode: member("mode", "markdown, gfm, comment, wiki or file; markdown when absent"),
  Context: member("context", "/{owner}/{repo} or /{owner}/{repo}/src/{branch|commit|tag}/{ref}"),
  Wiki: wiki,
};

export const renderingEndpoints = {
  ...resource(
    {
      name: "forge.rendering",
      path: "/api/v1/markdown",
      gate: anyone,
      limit,
      refuses: [503],
    },
    ({ operation }) => ({
      /** A text as HTML. Member names are taken in any case. */
      renderMarkdown: operation({
        as: "markdown",
        method: "POST",
        summary: "Render a Markdown text as HTML",
        body: z.object(markdownMembers),
        replies: { 200: html, 422: jsonOrText(apiError, "text/plain; charset=utf-8") },
        isTransient: true,
        maxBodyBytes: BODY_BYTES_MAX,
      }),
      renderMarkdownRaw: operation({
        as: "markdown_raw",
        method: "POST",
        at: "raw",
        summary: "Render the request's body, a Markdown text, as HTML",
        body: wholeBytes("text/plain"),
        replies: { 200: html, 422: jsonOrText(apiError, "text/plain; charset=utf-8") },
        isTransient: true,
        maxBodyBytes: RAW_BYTES_MAX,
        apiOnly: "croft render markdown sends the same text as JSON",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.rendering",
      path: "/api/v1/markup",
      gate: anyone,
      limit,
    },
    ({ operation }) => ({
      renderMarkup: operation({
        as: "markup",
        method: "POST",
        summary: "Render the text of a file as HTML, by the file's name",
        body: z.object({
          ...markdownMembers,
          FilePath: member(
            "file_path",
            "Path of the file in its repository; mode `file` goes by its name",
          ),
        }),
        replies: { 200: html, 422: jsonOrText(apiError, "text/plain; charset=utf-8") },
        refuses: [503],
        isTransient: true,
        maxBodyBytes: BODY_BYTES_MAX,
      }),
    }),
  ),
};
