import { z } from "zod";
import {
  anyone,
  endpoint,
  jsonOrText,
  perAnonymousAddress,
  text,
  wholeBytes,
} from "../endpoint.ts";
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

/** 422 is plain text when the text cannot be rendered, and JSON when the body cannot be decoded. */
const replies = {
  200: html,
  401: apiError,
  422: jsonOrText(apiError, "text/plain; charset=utf-8"),
  429: apiError,
  503: apiError,
} as const;

/** A text as HTML. Member names are taken in any case. */
export const renderMarkdown = endpoint({
  name: "forge.rendering.markdown",
  method: "POST",
  path: "/api/v1/markdown",
  summary: "Render a Markdown text as HTML",
  gate: anyone,
  isTransient: true,
  limit,
  body: z.object(markdownMembers),
  maxBodyBytes: BODY_BYTES_MAX,
  replies,
});

export const renderMarkdownRaw = endpoint({
  name: "forge.rendering.markdown_raw",
  method: "POST",
  path: "/api/v1/markdown/raw",
  summary: "Render the request's body, a Markdown text, as HTML",
  gate: anyone,
  isTransient: true,
  limit,
  body: wholeBytes("text/plain"),
  maxBodyBytes: RAW_BYTES_MAX,
  replies,
  apiOnly: "croft render markdown sends the same text as JSON",
});

export const renderMarkup = endpoint({
  name: "forge.rendering.markup",
  method: "POST",
  path: "/api/v1/markup",
  summary: "Render the text of a file as HTML, by the file's name",
  gate: anyone,
  isTransient: true,
  limit,
  body: z.object({
    ...markdownMembers,
    FilePath: member(
      "file_path",
      "Path of the file in its repository; mode `file` goes by its name",
    ),
  }),
  maxBodyBytes: BODY_BYTES_MAX,
  replies,
});

export const renderingEndpoints = { renderMarkdown, renderMarkdownRaw, renderMarkup };
