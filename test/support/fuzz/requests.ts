import fc from "fast-check";
import type { BodySpec, Endpoint } from "../../../daemon/contract/endpoint.ts";
import { existing } from "./fuzz-home.ts";
import { hostileBody, hostileHeaders, hostileJson, hostileSegment } from "./hostile-values.ts";
import { valuesOf } from "./schema-values.ts";
import type { SeenValues } from "./seen-values.ts";

/** A request before the values in its path are looked up in what the daemon has answered so far. */
export interface FuzzRequest {
  readonly declared: Endpoint;
  readonly caller: string;
  readonly segments: Readonly<Record<string, Segment>>;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

/** One value in a path: an existing one by its place among them, or a text that is sent as it is. */
type Segment = { readonly pick: number } | { readonly raw: string };

const forgeCallers = [
  "anonymous",
  "site administrator",
  "site administrator",
  "user",
  "user",
  "user",
  "other user",
  "narrow token",
  "public-only token",
  "user by password",
  "administrator by password",
  "wrong token",
  "broken credentials",
  "vault user",
];
const vaultCallers = [
  "anonymous",
  "vault user",
  "vault user",
  "vault user",
  "vault user with cookie",
  "vault administrator",
  "vault administrator",
  "machine token",
  "wrong bearer",
  "broken credentials",
  "user",
];

/** Returns requests to one operation: most of their values are valid or exist, some are hostile. */
export function requestsTo(declared: Endpoint): fc.Arbitrary<FuzzRequest> {
  const isForge = declared.name.startsWith("forge.");
  const names = [...declared.path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);
  return fc
    .record({
      declared: fc.constant(declared),
      caller: fc.constantFrom(...(isForge ? forgeCallers : vaultCallers)),
      segments: fc.record(Object.fromEntries(names.map((name) => [name, segment] as const))),
      query: queriesOf(declared),
      sent: declared.body === undefined ? mostlyNothing : bodiesOf(declared.body),
      headers: fc.oneof(
        { weight: 5, arbitrary: fc.constant({}) },
        { weight: 1, arbitrary: hostileHeaders },
      ),
    })
    .map(({ sent, headers, ...rest }) => ({
      ...rest,
      body: sent?.bytes,
      headers: { ...headers, ...(sent?.type === undefined ? {} : { "Content-Type": sent.type }) },
    }));
}

const segment: fc.Arbitrary<Segment> = fc.oneof(
  { weight: 12, arbitrary: fc.nat({ max: 40 }).map((pick) => ({ pick })) },
  { weight: 1, arbitrary: hostileSegment.map((raw) => ({ raw })) },
);

/** Returns the path and query of a request, and whether a value in the path may lead elsewhere. */
export function toTarget(
  { declared, segments, query }: FuzzRequest,
  seen: SeenValues,
): { readonly target: string; readonly isStrange: boolean } {
  let isStrange = false;
  const path = declared.path.replace(/(\*{0,2}):(\w+)/g, (_, several: string, name: string) => {
    const chosen = segments[name];
    if (chosen !== undefined && "raw" in chosen) {
      isStrange = true;
      return chosen.raw;
    }
    const value = seen.choose(declared.name, name, chosen?.pick ?? 0) ?? "1";
    isStrange ||= /^\.{0,2}$/.test(value) || value.includes("/");
    const encoded = encodeURIComponent(value.toWellFormed());
    return several === "" ? encoded : encoded.replaceAll("%2F", "/");
  });
  return { target: path + query, isStrange };
}

interface Sent {
  readonly bytes: Buffer;
  readonly type: string | undefined;
}

const known = (name: string) => existing[name] ?? [];

/** Bodies where none is expected are sent now and then. */
const mostlyNothing: fc.Arbitrary<Sent | undefined> = fc.oneof(
  { weight: 15, arbitrary: fc.constant(undefined) },
  {
    weight: 1,
    arbitrary: hostileBody.map((bytes) => ({ bytes, type: "application/json" })),
  },
);

function bodiesOf(body: BodySpec): fc.Arbitrary<Sent | undefined> {
  const wrong = fc.record({
    bytes: hostileBody,
    type: fc.constantFrom(
      undefined,
      "application/json",
      "application/json; charset=utf-16",
      "application/x-www-form-urlencoded",
      "multipart/form-data",
      "multipart/form-data; boundary=x",
      "text/plain",
      "application/octet-stream",
      "x",
      "/;=",
    ),
  });
  return fc.oneof(
    { weight: 7, arbitrary: fittingBodiesOf(body) },
    { weight: 1, arbitrary: wrong },
    { weight: 1, arbitrary: fc.constant(undefined) },
  );
}

function fittingBodiesOf(body: BodySpec): fc.Arbitrary<Sent> {
  if (!("kind" in body))
    return withOneHostileMember(valuesOf(body, known)).map((value) => ({
      bytes: Buffer.from(JSON.stringify(value) ?? ""),
      type: "application/json",
    }));
  const contents = fc.oneof(
    fc.constantFrom(Buffer.from("text"), Buffer.from("0000"), Buffer.from("")),
    hostileBody,
  );
  if (body.kind === "stream" || body.kind === "whole_bytes")
    return fc.record({
      bytes: contents,
      type: fc.constantFrom(...body.contentTypes, "application/octet-stream"),
    });
  const fields =
    body.kind === "multipart" ? valuesOf(body.fields, known) : fc.constant<unknown>({});
  return fc
    .record({
      fields: withOneHostileMember(fields),
      files: fc.array(
        fc.record({
          field: fc.constantFrom("file", "attachment", "files", ""),
          name: fc.constantFrom("text.txt", "../x", "a\0b", '"', "", "a/b.txt", "é.pdf"),
          type: fc.constantFrom("text/plain", "text/html", "x", ""),
          contents,
        }),
        { minLength: 0, maxLength: 3 },
      ),
    })
    .map(({ fields: values, files }) => ({
      bytes: toForm(values, files),
      type: "multipart/form-data; boundary=border",
    }));
}

function toForm(
  values: unknown,
  files: readonly {
    readonly field: string;
    readonly name: string;
    readonly type: string;
    readonly contents: Buffer;
  }[],
): Buffer {
  const part = (head: string, content: Buffer) =>
    Buffer.concat([Buffer.from(`--border\r\n${head}\r\n\r\n`), content, Buffer.from("\r\n")]);
  const isObject = typeof values === "object" && values !== null;
  const parts = Object.entries(isObject ? values : {}).map(([name, value]) =>
    part(
      `Content-Disposition: form-data; name="${name}"`,
      Buffer.from(typeof value === "string" ? value : (JSON.stringify(value) ?? "")),
    ),
  );
  for (const { field, name, type, contents } of files)
    parts.push(
      part(
        `Content-Disposition: form-data; name="${field}"; filename="${name}"${type === "" ? "" : `\r\nContent-Type: ${type}`}`,
        contents,
      ),
    );
  return Buffer.concat([...parts, Buffer.from("--border--\r\n")]);
}

/** Replaces a member, or a member of a member, by a hostile value; every second value stays as it is. */
function withOneHostileMember(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc
    .record({ value: values, change: fc.option(fc.record({ place: fc.nat(), by: hostileJson })) })
    .map(({ value, change }) =>
      change === null ? value : replaceAt(value, change.place, change.by),
    );
}

function replaceAt(value: unknown, place: number, by: unknown): unknown {
  if (typeof value !== "object" || value === null) return by;
  const keys = Object.keys(value);
  const key = keys[place % Math.max(keys.length, 1)];
  if (key === undefined) return by;
  const member = (value as Record<string, unknown>)[key];
  const replaced = replaceAt(member, Math.floor(place / keys.length), by);
  if (Array.isArray(value)) return value.with(Number(key), replaced);
  return { ...value, [key]: replaced };
}

/** Queries of the declared parameters, and now and then of others. */
function queriesOf({ query }: Endpoint): fc.Arbitrary<string> {
  const declared = query === undefined ? fc.constant<unknown>({}) : valuesOf(query, known);
  const others = fc.constantFrom(
    "?page=0&limit=-1",
    "?page=9223372036854775808&limit=1e9",
    "?page=2&page=3&limit[]=1",
    "?sudo=noah",
    "?token=x&access_token=%00",
    "?%",
    "?%ff=%ff",
    "?__proto__=1&constructor=2",
    `?q=${"a".repeat(4_000)}`,
    `?${"a=1&".repeat(2_000)}`,
    "?sort=none&order=up&state=%00",
  );
  return fc.oneof(
    {
      weight: 9,
      arbitrary: withOneHostileMember(declared).map(toQuery),
    },
    { weight: 1, arbitrary: others },
  );
}

/** More of them are more than the head of a request may have. */
const PAIRS_MAX = 100;

function toQuery(values: unknown): string {
  if (typeof values !== "object" || values === null) return "";
  const pairs = Object.entries(values).flatMap(([name, value]) =>
    (Array.isArray(value) ? value.slice(0, 10) : [value]).map(
      (one: unknown) =>
        `${encodeURIComponent(name)}=${encodeURIComponent(
          (typeof one === "string" ? one : (JSON.stringify(one) ?? "")).toWellFormed(),
        )}`,
    ),
  );
  return pairs.length === 0 ? "" : `?${pairs.slice(0, PAIRS_MAX).join("&")}`;
}
