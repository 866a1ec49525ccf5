import type { Failure } from "../outcomes.ts";
import type { ListedPage } from "../../s3/responses.ts";
import { unquote, type BucketClient } from "../../s3/client.ts";
import { findObject, type Findings, type Guards, type Spelling, type Store } from "./context.ts";
import { NEW_COPY_HEADERS, toSourceHeaders } from "./copying.ts";
import { purge } from "./journal.ts";
import { OWN_FOLDER } from "./keys.ts";
import { decodeKey } from "./listing.ts";
import { toCompletion } from "./multipart.ts";
import { toChangeFailure, type Refused } from "../../s3/failures.ts";
import { abortUpload } from "../../s3/multipart-uploads.ts";

/** A probe's name: every character that servers encode in more than one way. */
const ODD = "a b+c%41&é'\"<";
const CLEAN_MS = 30_000;
/** An entity tag that no object has. */
const NO_TAG = `"${"0".repeat(32)}"`;
const NO_GUARDS: Guards = {
  put: false,
  multipart: false,
  copySource: false,
  copyDestination: false,
  remove: false,
  replace: false,
  replaceInParts: false,
};

/**
 * Probes which conditions a server enforces: some accept and ignore them. Writes a few tiny objects below the adapter's
 * own folder and removes them. A read-only bucket is valid as well: then nothing is proved.
 */
export async function probe(
  store: Store,
  signal: AbortSignal,
): Promise<{ readonly kind: "ok"; readonly findings: Findings } | Failure> {
  const folder = `${store.keys.root}${OWN_FOLDER}/probe/${store.deps.newId()}/`;
  const key = `${folder}${ODD}/1`;
  const other = `${folder}${ODD}/2`;
  try {
    const first = await put(store, key, "1", {}, signal);
    if (first.kind === "refused") {
      if (first.failure.kind !== "forbidden" && first.status !== 405)
        return toChangeFailure(first.failure);
      return { kind: "ok", findings: { ...store.findings, region: store.client.region() } };
    }
    const etag = unquote(first.headers["etag"] ?? "");
    const version = first.headers["x-amz-version-id"];
    const spelled = await probeSpelling(store, folder, key, signal);
    if ("kind" in spelled) return spelled;
    const guards = await probeGuards(store, { key, other, etag }, signal);
    if ("kind" in guards) return guards;
    const isVersioned = version !== undefined && version !== "" && version !== "null";
    const ghosts = isVersioned && (await probeDeletedFolder(store, spelled, folder, signal));
    if (typeof ghosts === "object") return ghosts;
    return {
      kind: "ok",
      findings: {
        region: store.client.region(),
        guards,
        isVersioned,
        listsDeletedFolders: ghosts,
        isWritable: true,
        ...spelled,
      },
    };
  } finally {
    const clean = AbortSignal.timeout(CLEAN_MS);
    // Whether the bucket keeps versions may not be known yet.
    const careful = { ...store, findings: { ...store.findings, isVersioned: true } };
    for (const createdKey of [key, other]) await purge(careful, createdKey, clean);
  }
}

async function probeGuards(
  store: Store,
  { key, other, etag }: { readonly key: string; readonly other: string; readonly etag: string },
  signal: AbortSignal,
): Promise<Guards | Failure> {
  const isSame = async (at: string, expectedEtag: string): Promise<boolean | Refused> => {
    const head = await findObject(store, at, signal);
    if (head?.kind === "refused") return head;
    return head?.etag === expectedEtag;
  };
  /** Enforced: the request was refused, and the existing object is still there. */
  const isEnforced = async (
    sent: { readonly kind: string } | Refused,
    at: string,
    expectedEtag: string,
  ): Promise<boolean | Refused> => {
    if (sent.kind !== "refused") return false;
    const refused = sent as Refused;
    if (isNoProof(refused)) return refused;
    return ["changed", "stale"].includes(refused.failure.kind) || refused.status === 409
      ? isSame(at, expectedEtag)
      : false;
  };
  const found = { ...NO_GUARDS } as { -readonly [name in keyof Guards]: boolean };
  const note = (name: keyof Guards, outcome: boolean | Refused): Failure | undefined => {
    if (typeof outcome === "object") return toChangeFailure(outcome.failure);
    found[name] = outcome;
    return undefined;
  };

  const overwritten = await put(store, key, "2", { "if-none-match": "*" }, signal);
  let failed = note("put", await isEnforced(overwritten, key, etag));
  if (failed !== undefined) return failed;
  const replacing = await put(store, key, "2", { "if-match": NO_TAG }, signal);
  failed = note("replace", await isEnforced(replacing, key, etag));
  if (failed !== undefined) return failed;
  const second = await put(store, other, "22", {}, signal);
  if (second.kind === "refused") return toChangeFailure(second.failure);
  const otherTag = unquote(second.headers["etag"] ?? "");

  const copy = (headers: Readonly<Record<string, string>>) =>
    store.client.sendForFields({ method: "PUT", key: other, headers, signal }, "ETag");
  // A server that ignored one of the conditions has overwritten the object.
  const source = await findObject(store, key, signal);
  if (source?.kind !== "object") return toMissingObject(source);
  const asSource = toSourceHeaders(store, key, source.etag);
  const changed = await copy({ ...asSource, "x-amz-copy-source-if-match": NO_TAG });
  failed = note("copySource", await isEnforced(changed, other, otherTag));
  if (failed !== undefined) return failed;
  const existing = await findObject(store, other, signal);
  if (existing?.kind !== "object") return toMissingObject(existing);
  const replaced = await copy({ ...asSource, ...NEW_COPY_HEADERS });
  failed = note("copyDestination", await isEnforced(replaced, other, existing.etag));
  if (failed !== undefined) return failed;
  const multipart = await probeMultipart(store, key, signal);
  if ("kind" in multipart)
    return multipart.kind === "refused" ? toChangeFailure(multipart.failure) : multipart;
  found.multipart = multipart.creates;
  found.replaceInParts = multipart.replaces;

  const last = await findObject(store, other, signal);
  if (last?.kind !== "object") return toMissingObject(last);
  const removed = await store.client.sendAndDiscard({
    method: "DELETE",
    key: other,
    headers: { "if-match": NO_TAG },
    signal,
  });
  failed = note("remove", await isEnforced(removed, other, last.etag));
  return failed ?? found;
}

/**
 * Completing an upload under a key that is taken must not overwrite: neither with the condition that the key is free, nor with
 * the tag of another object.
 */
async function probeMultipart(
  store: Store,
  key: string,
  signal: AbortSignal,
): Promise<{ readonly creates: boolean; readonly replaces: boolean } | Refused | Failure> {
  const unproved = { creates: false, replaces: false };
  const before = await findObject(store, key, signal);
  if (before?.kind !== "object") return toMissingObject(before);
  const query = { uploads: "" };
  const started = await store.client.sendForFields(
    { method: "POST", key, query, signal },
    "UploadId",
  );
  // A server without multipart uploads refuses each of them anyway.
  if (started.kind === "refused") return isNoProof(started) ? started : unproved;
  const uploadId = started.fields["UploadId"] ?? "";
  try {
    const part = await store.client.sendAndDiscard({
      method: "PUT",
      key,
      query: { partNumber: "1", uploadId },
      body: Buffer.from("3"),
      signal,
    });
    if (part.kind === "refused") return isNoProof(part) ? part : unproved;
    const completion = Buffer.from(
      toCompletion([{ number: 1, etag: unquote(part.headers["etag"] ?? "") }]),
    );
    const isRefused = async (
      condition: Readonly<Record<string, string>>,
    ): Promise<boolean | Refused> => {
      const headers = { "content-type": "application/xml", ...condition };
      const completed = await store.client.sendForFields(
        { method: "POST", key, query: { uploadId }, headers, body: completion, signal },
        "ETag",
      );
      if (completed.kind !== "refused") return false;
      if (isNoProof(completed)) return completed;
      const after = await findObject(store, key, signal);
      if (after?.kind === "refused") return after;
      return completed.failure.kind === "changed" && after?.etag === before.etag;
    };
    const creates = await isRefused({ "if-none-match": "*" });
    if (typeof creates === "object") return creates;
    // A refused completion leaves the upload as it was, so it can be completed again.
    const replaces = creates && (await isRefused({ "if-match": NO_TAG }));
    return typeof replaces === "object" ? replaces : { creates, replaces };
  } finally {
    await abortUpload(store.client, key, uploadId, AbortSignal.timeout(CLEAN_MS));
  }
}

/**
 * Returns whether a refusal says nothing about what a server enforces: there was no response, the credentials are invalid, or
 * it is overloaded. Taken for an answer, it would be saved, and the condition never be used.
 */
function isNoProof({ status, failure }: Refused): boolean {
  const isOverloaded = [429, 502, 503, 504].includes(status) || failure.kind === "rate_limited";
  return status === 0 || isOverloaded || failure.kind === "reauth";
}

/** Returns whether a folder is still listed after its only object was deleted and has left a delete marker. */
async function probeDeletedFolder(
  store: Store,
  { prefixSpelling }: Pick<Findings, "prefixSpelling">,
  folder: string,
  signal: AbortSignal,
): Promise<boolean | Failure> {
  const { client } = store;
  const key = `${folder}deleted/1`;
  const created = await put(store, key, "1", {}, signal);
  if (created.kind === "refused") return toChangeFailure(created.failure);
  const removed = await client.sendAndDiscard({ method: "DELETE", key, signal });
  try {
    if (removed.kind === "refused") return toChangeFailure(removed.failure);
    const page = await client.page({ prefix: folder, delimiter: "/" }, signal);
    if (page.kind === "refused") return toChangeFailure(page.failure);
    const spelling = page.isEncoded ? prefixSpelling : "none";
    return page.prefixes.some((text) => decodeKey(text, spelling) === `${folder}deleted/`);
  } finally {
    const clean = AbortSignal.timeout(CLEAN_MS);
    for (const sent of [removed, created]) {
      const versionId = sent.kind === "done" ? sent.headers["x-amz-version-id"] : undefined;
      if (versionId !== undefined)
        await client.sendAndDiscard({ method: "DELETE", key, query: { versionId }, signal: clean });
    }
  }
}

/** Finds the encoding of keys and prefixes in listings. A server that returns neither correctly is unusable. */
async function probeSpelling(
  store: Store,
  folder: string,
  key: string,
  signal: AbortSignal,
): Promise<Pick<Findings, "keySpelling" | "prefixSpelling"> | Failure> {
  const keys = await store.client.page({ prefix: folder }, signal);
  if (keys.kind === "refused") return toChangeFailure(keys.failure);
  const folders = await store.client.page({ prefix: folder, delimiter: "/" }, signal);
  if (folders.kind === "refused") return toChangeFailure(folders.failure);
  const keySpelling = toSpelling(keys, keys.objects[0]?.key, key);
  const prefixSpelling = toSpelling(folders, folders.prefixes[0], `${folder}${ODD}/`);
  return keySpelling === undefined || prefixSpelling === undefined
    ? { kind: "unsupported", reason: "listing", note: "listing_garbles_names" }
    : { keySpelling, prefixSpelling };
}

function toSpelling(
  page: ListedPage,
  text: string | undefined,
  expected: string,
): Spelling | undefined {
  if (text === undefined) return undefined;
  const spellings: readonly Spelling[] = page.isEncoded ? ["form", "percent", "none"] : ["none"];
  return spellings.find((spelling) => decodeKey(text, spelling) === expected);
}

function put(
  store: Store,
  key: string,
  text: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): ReturnType<BucketClient["sendAndDiscard"]> {
  return store.client.sendAndDiscard({
    method: "PUT",
    key,
    body: Buffer.from(text),
    headers,
    signal,
  });
}

function toMissingObject(head: Refused | undefined): Failure {
  return head === undefined
    ? { kind: "offline", sent: true, note: "probe_gone" }
    : toChangeFailure(head.failure);
}
