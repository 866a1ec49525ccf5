import { Buffer } from "node:buffer";
import { Readable } from "node:stream";
import type { ConnectFailure, Failure } from "../outcomes.ts";
import type { ProbeResult, ProviderCapabilities, ProviderDeps } from "../provider.ts";
import { ADDRESS_REFUSED } from "../transport.ts";
import type { DavPlace } from "./address.ts";
import type { DavClient } from "./client.ts";
import { toFailure } from "./failures.ts";
import { davProps, plainTag, quotaProps, toCount } from "./items.ts";
import type { DavResponse } from "./multistatus.ts";
import { withTemporaryName } from "./temporary.ts";

/** Version of the probe result: a result of another version is probed again. */
export const PROBE_VERSION = 5;

/** Time-out of an upload of a few bytes without a length: some servers wait for a length that never comes. */
const CHUNKS_TIMEOUT_MS = 10_000;

/** Returns the capabilities of a connection from its probe. */
export function toCapabilities(
  best: ProviderCapabilities,
  probeResult: ProbeResult,
): ProviderCapabilities {
  return {
    ...best,
    caseSensitive: probeResult["case_sensitive"] !== false,
    normalisationSensitive: probeResult["normalisation_sensitive"] !== false,
    quota: probeResult["quota"] === true,
    range: probeResult["range"] !== false,
    versionResolutionMs: probeResult["etag"] === "fine" ? 0 : 1_000,
    uploadNeedsSize: probeResult["chunked_upload"] !== true,
  };
}

/** Checks the connected folder: whether it exists, speaks WebDAV, and at which path the server sees it. */
export async function lookAtRoot(
  client: DavClient,
  deps: ProviderDeps,
  signal: AbortSignal,
  /** The setting that names the folder. */
  setting: "url" | "root",
): Promise<{ readonly kind: "ok"; readonly probeResult: ProbeResult } | ConnectFailure> {
  let root: { readonly response: DavResponse; readonly path: readonly string[] } | undefined;
  const outcome = await client.propfind(
    {
      place: { segments: [], isFolder: true },
      depth: "0",
      props: [...davProps, ...quotaProps],
      signal,
    },
    (response, path) => {
      if (path !== undefined) root ??= { response, path };
    },
  );
  const invalid = (at: string, reason: string) =>
    ({ kind: "invalid_setting", setting: at, reason }) as const;
  if (outcome.kind === "refused") {
    const { status } = outcome.answer;
    if (status === 404 || status === 410) return invalid(setting, "folder_missing");
    if (status >= 300 && status < 400) return invalid("url", "redirected_elsewhere");
    const isNoDav = status < 300 || [400, 405, 415, 501].includes(status);
    return isNoDav ? invalid("url", "not_webdav") : toFailure(outcome.answer, deps.clock());
  }
  if (outcome.kind !== "ok")
    return outcome.note === ADDRESS_REFUSED ? invalid("url", ADDRESS_REFUSED) : outcome;
  if (root === undefined) return invalid("url", "not_webdav");
  if (!root.response.isFolder) return invalid(setting, "not_a_folder");
  const own = client.base.segments.join("/");
  const hrefBase = root.path.join("/");
  return {
    kind: "ok",
    probeResult: {
      version: PROBE_VERSION,
      quota: readQuota(root.response) !== undefined,
      ...(own === hrefBase ? {} : { href_base: hrefBase }),
    },
  };
}

/** Reads the quota of a folder; undefined when unknown. Markers such as -3 are not numbers. */
export function readQuota({ props }: DavResponse) {
  const available = toCount(props.get("{DAV:}quota-available-bytes"));
  const usedBytes = toCount(props.get("{DAV:}quota-used-bytes"));
  const totalBytes =
    available === undefined || usedBytes === undefined ? undefined : available + usedBytes;
  // A server without a quota reports 0 or omits the value.
  if (usedBytes === undefined && totalBytes === undefined) return undefined;
  return { usedBytes, totalBytes: totalBytes === 0 ? undefined : totalBytes };
}

/**
 * Probes, in a temporary folder, features that some servers only pretend to support. Without write access
 * no feature is assumed. Fails only when the server is unreachable or refuses the credentials.
 */
export async function probe(
  client: DavClient,
  deps: ProviderDeps,
  signal: AbortSignal,
): Promise<{ readonly kind: "ok"; readonly probeResult: ProbeResult } | Failure> {
  for (const dotNames of [true, false]) {
    const probed = await withTemporaryName(deps, { dot_names: dotNames }, (name) =>
      probeIn(name, client, deps, signal),
    );
    if (probed.kind !== "ok") return probed;
    if (probed.probeResult["writable"] === true)
      return { kind: "ok", probeResult: { ...probed.probeResult, dot_names: dotNames } };
  }
  return { kind: "ok", probeResult: { writable: false } };
}

async function probeIn(
  folder: string,
  client: DavClient,
  deps: ProviderDeps,
  signal: AbortSignal,
): Promise<{ readonly kind: "ok"; readonly probeResult: ProbeResult } | Failure> {
  const at = (name: string): DavPlace => ({ segments: [folder, name], isFolder: false });
  const own: DavPlace = { segments: [folder], isFolder: true };

  async function ask(
    method: string,
    place: DavPlace,
    headers: Readonly<Record<string, string>> = {},
    body?: string,
  ): Promise<{ readonly status: number; readonly headers: Readonly<Record<string, string>> }> {
    const answer = await client.send({
      method,
      place,
      headers,
      signal,
      ...(body === undefined ? {} : { body }),
    });
    if (answer.kind !== "answered") throw new ProbeFailed(answer);
    answer.discard();
    if (answer.status === 401 || answer.status === 429)
      throw new ProbeFailed(toFailure(answer, deps.clock()));
    return answer;
  }
  const put = (name: string, body: string) =>
    ask("PUT", at(name), { "content-type": "text/plain" }, body);

  async function propOf(name: string, prop: string): Promise<string | undefined> {
    let value: string | undefined;
    await client.propfind({ place: at(name), depth: "0", props: davProps, signal }, (response) => {
      value = response.props.get(prop);
    });
    return value;
  }
  const tagOf = (name: string) => propOf(name, "{DAV:}getetag");
  const sizeOf = async (name: string) => toCount(await propOf(name, "{DAV:}getcontentlength"));

  /** Some servers behind FastCGI store an empty file for an upload without a length. */
  async function takesChunkedUploads(): Promise<boolean> {
    const answer = await client.send({
      method: "PUT",
      place: at("chunks"),
      headers: { "content-type": "text/plain" },
      body: Readable.from([Buffer.from("one"), Buffer.from("two")], { objectMode: false }),
      signal,
      headTimeoutMs: CHUNKS_TIMEOUT_MS,
    });
    if (answer.kind !== "answered") return false;
    answer.discard();
    return answer.status < 300 && (await sizeOf("chunks")) === 6;
  }

  async function isThere(name: string): Promise<boolean> {
    const found = await ask("PROPFIND", at(name), { depth: "0" });
    return found.status === 207;
  }

  /** Some servers accept names that begin with a dot and never list them. */
  async function showsDotNames(): Promise<boolean> {
    const name = ".shown";
    if ((await put(name, "x")).status >= 300) return true;
    let isShown = false;
    const listing = await client.propfind(
      { place: own, depth: "1", props: davProps, signal },
      (_response, path) => {
        isShown ||= path?.at(-1) === name;
      },
    );
    return listing.kind !== "ok" || isShown;
  }

  async function findOut(): Promise<ProbeResult> {
    if ((await put("a", "one")).status >= 300) return { writable: false };
    const before = await tagOf("a");
    await put("a", "two");
    const after = await tagOf("a");
    const isFine =
      after !== undefined &&
      after.startsWith('"') &&
      before !== undefined &&
      plainTag(before) !== plainTag(after);
    const range = await ask("GET", at("a"), { range: "bytes=1-1" });
    const whole = client.destination(at("b"));
    const moved = await ask("MOVE", at("a"), { destination: whole, overwrite: "F" });
    const path = new URL(whole, client.base.origin).pathname;
    let usesPath = false;
    if (moved.status === 400 || moved.status === 502) {
      const movedByPath = await ask("MOVE", at("a"), { destination: path, overwrite: "F" });
      usesPath = movedByPath.status < 300;
    }
    const destination = (name: string) =>
      usesPath ? new URL(client.destination(at(name))).pathname : client.destination(at(name));
    // A tag that no item has: a server that moves anyway ignores the condition.
    await ask("MOVE", at("b"), {
      destination: destination("c"),
      overwrite: "F",
      "if-match": '"croft-has-no-such-tag"',
    });
    const keepsTags = after !== undefined && (await isThere("b"));
    const target = keepsTags ? "b" : "c";
    await put("d", "another");
    await ask("MOVE", at("d"), { destination: destination(target), overwrite: "F" });
    // Some servers refuse to overwrite a file, but still overwrite a folder, or move into it.
    await ask("MKCOL", { segments: [folder, "e"], isFolder: true });
    await ask("MOVE", at("d"), { destination: destination("e"), overwrite: "F" });
    const refusesOverwrite = (await sizeOf("d")) === 7 && (await sizeOf(target)) === 3;
    const orphan = await ask(
      "PUT",
      { segments: [folder, "missing", "orphan"], isFolder: false },
      { "content-type": "text/plain" },
      "one",
    );
    const refusesOrphans = orphan.status >= 400 && !(await isThere("missing"));
    await put("f", "one");
    await ask("MOVE", at("f"), { destination: destination("g?;h"), overwrite: "F" });
    const takesWhole = await isThere("g?;h");
    const takesChunks = await takesChunkedUploads();
    await put("\u00e4", "one");
    await put("i", "one");
    await ask(
      "PUT",
      at("i"),
      { "content-type": "text/plain", "if-match": '"croft-has-no-such-tag"' },
      "another",
    );
    const comparesOnPut = after !== undefined && (await sizeOf("i")) === 3;
    return {
      writable: true,
      etag: after === undefined ? "none" : isFine ? "fine" : "coarse",
      range: range.status === 206,
      if_match: keepsTags,
      if_match_on_put: comparesOnPut,
      path_destination: usesPath,
      case_sensitive: !(await isThere(keepsTags ? "B" : "C")),
      normalisation_sensitive: !(await isThere("a\u0308")),
      whole_destinations: takesWhole,
      shows_dot_names: await showsDotNames(),
      refuses_overwrite: refusesOverwrite,
      refuses_orphans: refusesOrphans,
      chunked_upload: takesChunks,
    };
  }

  try {
    if ((await ask("MKCOL", own)).status !== 201)
      return { kind: "ok", probeResult: { writable: false } };
    try {
      return { kind: "ok", probeResult: await findOut() };
    } finally {
      const deleted = await client.send({ method: "DELETE", place: own, signal });
      if (deleted.kind === "answered") deleted.discard();
    }
  } catch (error) {
    if (error instanceof ProbeFailed) return error.failure;
    throw error;
  }
}

class ProbeFailed extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.kind);
    this.name = "ProbeFailed";
    this.failure = failure;
  }
}
