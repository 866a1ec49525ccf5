import type { Failure } from "../outcomes.ts";
import { createOnly, NEW_HEADERS, throughRaces, type Changed } from "./changing.ts";
import { unquote, type ObjectHead } from "../../s3/client.ts";
import { findObject, type Store } from "./context.ts";
import { uploadInParts, type Part } from "./multipart.ts";
import { isPrecondition, mayHaveLanded, toChangeFailure, type Refused } from "../../s3/failures.ts";
import { encodePath } from "../../s3/signing.ts";

/** A copy within the bucket. */
export interface Copy {
  readonly from: string;
  readonly source: ObjectHead;
  /** The target key, which must be free. */
  readonly to: string;
  readonly signal: AbortSignal;
}

export type Copied =
  | { readonly kind: "copied"; readonly head: ObjectHead }
  /** The source has changed, or the new key is taken. */
  | { readonly kind: "precondition" }
  | Failure;

/** Headers that keep a copy from overwriting: the common one, and Cloudflare's. */
export const NEW_COPY_HEADERS: Readonly<Record<string, string>> = {
  ...NEW_HEADERS,
  "cf-copy-destination-if-none-match": "*",
};

/** Properties of an object that a multipart copy must set again. */
const COPIED_HEADERS =
  /^(content-(type|encoding|language|disposition)|cache-control|expires|x-amz-meta-.+|x-amz-storage-class)$/;

/**
 * Copies an object of a known version to a free key, and verifies the copy. If the server ignores conditions, the
 * caller must have checked both keys while holding their locks.
 */
export async function copyObject(store: Store, copy: Copy): Promise<Copied> {
  const send = () =>
    copy.source.size > store.limits.copyBytesMax
      ? copyInParts(store, copy)
      : copyAtOnce(store, copy);
  const sent = await send();
  if (sent.kind === "done") return verify(store, copy, sent.etag);
  if (!isLost(sent)) return toCopied(sent);
  const landed = await findObject(store, copy.to, copy.signal);
  if (landed === undefined) {
    const retried = await send();
    if (retried.kind === "done") return verify(store, copy, retried.etag);
    if (!isLost(retried) && retried.kind !== "precondition") return toCopied(retried);
  }
  // An equal tag means equal content. An object with another tag may be ours or not, and a guess must not delete
  // anything.
  const ours = await findObject(store, copy.to, copy.signal);
  return ours?.kind === "object" && ours.etag === copy.source.etag && ours.size === copy.source.size
    ? { kind: "copied", head: ours }
    : { kind: "unknown_outcome", note: "copy_unanswered" };
}

/** The headers that name the source, and its expected tag. */
export function toSourceHeaders(
  store: Store,
  from: string,
  etag: string,
): Readonly<Record<string, string>> {
  return {
    "x-amz-copy-source": encodePath(`/${store.bucket}/${from}`),
    ...(store.findings.guards.copySource ? { "x-amz-copy-source-if-match": `"${etag}"` } : {}),
  };
}

async function copyAtOnce(store: Store, { from, source, to, signal }: Copy): Promise<Changed> {
  const sourceHeaders = toSourceHeaders(store, from, source.etag);
  const condition = store.findings.guards.copyDestination ? NEW_COPY_HEADERS : undefined;
  const sent = await createOnly(store, { key: to, condition, signal }, (isNew) =>
    throughRaces(store, signal, () =>
      store.client.sendForFields(
        { method: "PUT", key: to, headers: { ...sourceHeaders, ...isNew }, isLong: true, signal },
        "ETag",
      ),
    ),
  );
  if (sent.kind === "refused") return toUncopied(sent);
  return {
    kind: "done",
    etag: unquote(sent.fields["ETag"] ?? ""),
    versionId: undefined,
    isMarked: false,
  };
}

async function copyInParts(store: Store, copy: Copy): Promise<Changed | Failure> {
  const { from, source, to, signal } = copy;
  const { copyPartBytes, partsMax } = store.limits;
  // No object is that large: a length that a faulty server invents would take requests for weeks.
  if (source.size > copyPartBytes * partsMax)
    return { kind: "unsupported", reason: "file_too_large" };
  const copiedHeaders = Object.entries(source.headers).filter(([name]) =>
    COPIED_HEADERS.test(name),
  );
  // Other characters cannot be signed unchanged, and without them the copy would lose metadata.
  if (copiedHeaders.some(([, value]) => !/^[ -~]*$/.test(value)))
    return { kind: "unsupported", reason: "odd_properties" };
  return uploadInParts(
    store,
    { key: to, headers: Object.fromEntries(copiedHeaders), signal },
    async (uploadId) => {
      const parts: Part[] = [];
      for (let start = 0; start < source.size; start += copyPartBytes) {
        const number = parts.length + 1;
        const end = Math.min(start + copyPartBytes, source.size) - 1;
        const sent = await store.client.sendForFields(
          {
            method: "PUT",
            key: to,
            query: { partNumber: String(number), uploadId },
            headers: {
              ...toSourceHeaders(store, from, source.etag),
              "x-amz-copy-source-range": `bytes=${start}-${end}`,
            },
            isLong: true,
            signal,
          },
          "ETag",
        );
        if (sent.kind === "refused") return toUncopied(sent);
        parts.push({ number, etag: unquote(sent.fields["ETag"] ?? "") });
      }
      return parts;
    },
    (complete) => complete(),
  );
}

function toUncopied(sent: Refused): Refused | { readonly kind: "precondition" } {
  return isPrecondition(sent) || sent.failure.kind === "not_found"
    ? { kind: "precondition" }
    : sent;
}

/** Checks the stored object, which decides about success, not the response. */
async function verify(store: Store, copy: Copy, etag: string): Promise<Copied> {
  const head = await findObject(store, copy.to, copy.signal);
  if (head === undefined) return { kind: "stale", note: "copy_gone" };
  if (head.kind === "refused") return { kind: "unknown_outcome", note: "copy_unseen" };
  if (etag !== "" && head.etag !== etag) return { kind: "precondition" };
  return head.size === copy.source.size
    ? { kind: "copied", head }
    : { kind: "unknown_outcome", note: "copy_differs" };
}

function isLost(sent: Changed | Failure): boolean {
  return sent.kind === "refused" ? mayHaveLanded(sent) : sent.kind === "unknown_outcome";
}

function toCopied(sent: Exclude<Changed, { kind: "done" }> | Failure): Copied {
  return sent.kind === "refused" ? toChangeFailure((sent as Refused).failure) : sent;
}
