import { z } from "zod";
import { bindingNames, isTrueWord, toInteger } from "../../contract/forge/common.ts";
import { surfaceOf } from "../../contract/api-of.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { AppError } from "../../errors.ts";
import type { ReadBody, ServerRequest } from "../../http/handle.ts";

type Shape = Readonly<Record<string, z.ZodType>>;

/**
 * Returns the value for an endpoint's body schema, decoded by the content type: JSON with
 * case-insensitive member names, a form with its form names, or the query of a PATCH or DELETE without a content type.
 * Throws `unprocessable` when the body cannot be decoded.
 */
export async function decodeBody(
  declared: Endpoint,
  request: ServerRequest,
  readBody: ReadBody,
): Promise<unknown> {
  const shape = shapeOf(declared);
  const type = request.headers["content-type"] ?? "";
  const assertText = declared.isTransient === true ? () => undefined : assertStorable;
  if (type === "") {
    if (declared.method === "POST" || declared.method === "PUT")
      throw undecodable("Empty Content-Type");
    return fromForm(shape, request.query, assertText);
  }
  if (type.includes("json")) return fromJson(shape, await readBody(), assertText);
  if (isFormType(type))
    return fromForm(shape, await decodeForm(type, await readBody()), assertText);
  throw undecodable("Unsupported Content-Type");
}

/**
 * Reads the query of a writing operation without a body schema. Values of a form in the body take precedence.
 * Refuses with `unprocessable` a form that cannot be decoded.
 */
export async function readFormQuery(
  { method, body }: Endpoint,
  { headers, query }: ServerRequest,
  readBody: ReadBody,
): Promise<URLSearchParams> {
  const type = headers["content-type"] ?? "";
  if (body !== undefined || method === "GET" || !isFormType(type)) return query;
  const form = await decodeForm(type, await readBody());
  const merged = new URLSearchParams(query);
  for (const name of new Set(form.keys())) merged.delete(name);
  for (const [name, value] of form) merged.append(name, value);
  assertStorable([...merged.values()]);
  return merged;
}

/** Largest form that is searched for credentials. */
const CREDENTIAL_FORM_BYTES_MAX = 1024 * 1024;

/**
 * Returns whether the form of a request may carry credentials: only if the API itself
 * reads the body as a form, never for an upload.
 */
export function mayNameCaller({ method, target, headers }: ServerRequest): boolean {
  const isChange = method === "POST" || method === "PUT" || method === "PATCH";
  const path = target.split("?", 1).join();
  return (
    isChange &&
    isFormType(headers["content-type"]) &&
    surfaceOf(path) === "forge" &&
    !isUpload(path) &&
    sizeOf(headers) <= CREDENTIAL_FORM_BYTES_MAX
  );
}

/** Returns whether a path receives a file in a form, which its endpoint reads itself. */
const isUpload = (path: string): boolean => /\/assets\/*$/.test(path);

/** Returns the declared length; NaN when the request has none. */
function sizeOf(headers: ServerRequest["headers"]): number {
  return Number(headers["content-length"] ?? Number.NaN);
}

/** Returns the fields of a form; empty when it cannot be decoded, because its endpoint will refuse it. */
export async function readFields(
  { headers }: ServerRequest,
  bytes: Buffer,
): Promise<URLSearchParams> {
  try {
    const form = await decodeForm(headers["content-type"] ?? "", bytes);
    assertStorable([...form.values()]);
    return form;
  } catch (error) {
    if (error instanceof AppError) return new URLSearchParams();
    throw error;
  }
}

/** Returns the members of an endpoint's body and their schemas; empty when the body is not an object. */
export function shapeOf(declared: Endpoint): Shape {
  return declared.body instanceof z.ZodObject ? (declared.body.shape as Shape) : {};
}

/** Returns the name of a member in error texts: `new_username` is `NewName`, `full_name` is `FullName`. */
export function toFieldName(shape: Shape, member: string): string {
  const schema = shape[member];
  const named = schema && bindingNames.get(schema)?.field;
  if (named !== undefined) return named;
  return member
    .split("_")
    .map((word) => (word === "id" ? "ID" : word.charAt(0).toUpperCase() + word.slice(1)))
    .join("");
}

type AssertText = (value: unknown) => void;

function fromJson(shape: Shape, bytes: Buffer, assertText: AssertText): unknown {
  const text = toText(bytes);
  if (text.trim() === "") return {};
  const value = parseJson(text);
  if (/\0|\\u(?:0000|[dD][89a-fA-F])/.test(text)) assertText(value);
  if (value === null) return {};
  if (typeof value !== "object" || Array.isArray(value))
    throw undecodable("a JSON object is expected");
  const members = new Map(Object.keys(shape).map((name) => [name.toLowerCase(), name]));
  const known: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    const exact = Object.hasOwn(shape, name) ? name : members.get(name.toLowerCase());
    if (exact !== undefined && (exact === name || !Object.hasOwn(value, exact)))
      known[exact] = member;
  }
  return known;
}

/** Refuses text that databases cannot store, at any depth of a value: NUL and unpaired surrogates. */
function assertStorable(value: unknown): void {
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next === "string" && (next.includes("\0") || !next.isWellFormed()))
      throw undecodable("a text contains a character that cannot be stored");
    // Not spread, because the number of arguments of a call is limited.
    if (typeof next === "object" && next !== null)
      for (const member of Object.values(next)) left.push(member);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw undecodable("invalid JSON", error);
  }
}

function fromForm(shape: Shape, form: URLSearchParams, assertText: AssertText): unknown {
  const value: Record<string, unknown> = {};
  for (const [member, schema] of Object.entries(shape)) {
    const name = bindingNames.get(schema)?.form ?? member;
    const values = form.getAll(name);
    assertText(values);
    const [first] = values;
    if (first !== undefined) value[member] = fromWord(innermost(schema), name, first, values);
  }
  return value;
}

/** Converts a form's text to the type of the member's schema. */
function fromWord(schema: z.ZodType, name: string, word: string, all: readonly string[]): unknown {
  if (schema instanceof z.ZodArray) return all;
  if (schema instanceof z.ZodBoolean) {
    if (word === "") return undefined;
    if (isTrueWord(word)) return true;
    if (/^(?:0|f|F|false|False|FALSE|off)$/.test(word)) return false;
    throw unbindable(name, "boolean");
  }
  if (schema instanceof z.ZodNumber) {
    if (word === "") return undefined;
    return toInteger(word) ?? raise(unbindable(name, "integer"));
  }
  return word;
}

function innermost(schema: z.ZodType): z.ZodType {
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault
  )
    return innermost(schema.unwrap() as z.ZodType);
  return schema;
}

function isFormType(type = ""): boolean {
  return type.includes("form-urlencoded") || type.includes("multipart/form-data");
}

async function decodeForm(type: string, bytes: Buffer): Promise<URLSearchParams> {
  const isEncoded = type.includes("form-urlencoded");
  return isEncoded ? new URLSearchParams(toText(bytes)) : readParts(type, bytes);
}

async function readParts(type: string, bytes: Buffer): Promise<URLSearchParams> {
  const form = new URLSearchParams();
  try {
    const parts = await new Response(new Uint8Array(bytes), {
      headers: { "content-type": type },
    }).formData();
    for (const [name, part] of parts) if (typeof part === "string") form.append(name, part);
  } catch (error) {
    throw undecodable("invalid multipart form", error);
  }
  return form;
}

function toText(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw undecodable("invalid UTF-8", error);
  }
}

function undecodable(reason: string, cause?: unknown): AppError {
  return new AppError("unprocessable", `[]: ${reason}`, { cause });
}

function unbindable(name: string, type: string): AppError {
  return new AppError("unprocessable", `[${name}]: Value could not be parsed as ${type}`);
}

function raise(error: AppError): never {
  throw error;
}
