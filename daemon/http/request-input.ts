import type { IncomingMessage } from "node:http";
import { z } from "zod";
import { type BodySpec, encodedText, type Endpoint } from "../contract/endpoint.ts";
import { collapseSlashes } from "../contract/api-of.ts";
import { describeIssue } from "../contract/issue-text.ts";
import type { BodyMemory } from "./body-memory.ts";
import { toMediaType } from "../contract/media-type.ts";
import type { Api, FilePart, FormLimit, ReadBody, ServerRequest } from "./handle.ts";
import { readFileParts } from "./file-parts.ts";
import { giveUpFile, isMultipart, readMultipart } from "./multipart.ts";
import { cutStalledBody } from "./request-body.ts";

/** Limits of a form besides the limit of all uploads. */
export interface FormBounds {
  readonly limit: FormLimit | undefined;
  /** Counts the bytes of a temporary file; the caller that opened it releases it. */
  readonly spooled: BodyMemory;
}

export interface InputOptions {
  readonly maxUploadBytes: number;
  /** Holds the file of a form while fields that follow it are read. */
  readonly temporaryDirectory: string;
}

/**
 * Creates the reader of one API. Decodes and validates path, query and body of requests. Every function refuses with
 * the API's own validation error.
 */
export function createInputReader(
  api: Pick<Api<unknown>, "decodeBody" | "readQuery" | "toValidationError">,
  options: InputOptions,
) {
  function parse<S extends z.ZodType>(
    declared: Endpoint,
    schema: S,
    value: unknown,
    where: "path" | "query" | "body",
  ): z.output<S> {
    const result = schema.safeParse(value, { error: describeIssue });
    if (result.success) return result.data;
    throw api.toValidationError(where, result.error, declared);
  }

  /** Makes the API's refusal of an invalid form. */
  function toMalformedFor(declared: Endpoint) {
    return (text: string, cause?: unknown) => {
      const error = new z.ZodError([{ code: "custom", path: [], message: text, input: undefined }]);
      const refusal = api.toValidationError("body", error, declared);
      refusal.cause = cause;
      return refusal;
    };
  }

  async function readForm(
    declared: Endpoint,
    { fields, orBytes }: Extract<BodySpec, { kind: "multipart" }>,
    message: IncomingMessage,
    bounds: FormBounds,
  ) {
    const form = await readMultipart(message, {
      ...bounds,
      handsOnAtOnce: orBytes !== undefined,
      maxFileBytes: options.maxUploadBytes,
      temporaryDirectory: options.temporaryDirectory,
      fieldNames: Object.keys(fields.shape),
      toMalformed: toMalformedFor(declared),
    });
    try {
      return { fields: parse(declared, fields, form.fields, "body"), file: form.file };
    } catch (error) {
      giveUpFile(form);
      throw error;
    }
  }

  return {
    params: (
      declared: Endpoint,
      raw: Readonly<Record<string, string>>,
      { target }: ServerRequest,
    ): unknown =>
      declared.params &&
      parse(declared, declared.params, decodeParams(declared, raw, target), "path"),
    async query(declared: Endpoint, request: ServerRequest, readBody: ReadBody): Promise<unknown> {
      if (declared.query === undefined) return undefined;
      const values = (await api.readQuery?.(declared, request, readBody)) ?? request.query;
      return parse(declared, declared.query, toQueryObject(values), "query");
    },
    async body(
      declared: Endpoint,
      request: ServerRequest,
      message: IncomingMessage,
      readBody: ReadBody,
      form: FormBounds,
    ): Promise<unknown> {
      const spec = declared.body;
      if (spec === undefined) return undefined;
      if (!("kind" in spec))
        return parse(declared, spec, await api.decodeBody(declared, request, readBody), "body");
      if (spec.kind === "whole_bytes") return readBody();
      cutStalledBody(message);
      if (spec.kind === "file_parts")
        return readFileParts(message, {
          ...spec,
          fileBytesMax: options.maxUploadBytes,
          toMalformed: toMalformedFor(declared),
        });
      if (spec.kind !== "multipart") return message;
      if (spec.orBytes !== undefined && !isMultipart(message))
        return { fields: {}, file: toFile(message) };
      return readForm(declared, spec, message, form);
    },
  };
}

/** Returns a body that is a file as the file of a form, without a name and of unknown size. */
function toFile(message: IncomingMessage): FilePart {
  const contentType = toMediaType(message.headers["content-type"]);
  return { field: "", filename: undefined, contentType, stream: message, size: undefined };
}

/** Decodes path values once per segment; in a value of several segments an encoded slash stays distinct from a separator. */
function decodeParams(
  { path, params }: Endpoint,
  raw: Readonly<Record<string, string>>,
  target: string,
): Record<string, string> {
  const decoded: Record<string, string> = {};
  for (const [name, value] of Object.entries(raw)) {
    if (params?.shape[name] === encodedText) decoded[name] = findSegment(path, name, target);
    else
      decoded[name] = value.includes("%")
        ? value.split("/").map(decodeURIComponent).join("/")
        : value;
  }
  return decoded;
}

/** Returns a value as the client sent it: the router decodes some characters. */
function findSegment(path: string, name: string, target: string): string {
  const [sent = ""] = target.split("?", 1);
  return collapseSlashes(sent).split("/")[path.split("/").indexOf(`:${name}`)] ?? "";
}

/** Returns a query as the schemas take it: a single value as text, repeated ones as an array. */
export function toQueryObject(query: URLSearchParams): Record<string, string | string[]> {
  const object: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of query) {
    const earlier = object[name];
    if (earlier === undefined) object[name] = value;
    else if (Array.isArray(earlier)) earlier.push(value);
    else object[name] = [earlier, value];
  }
  return object;
}
