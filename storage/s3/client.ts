// storage/s3: a plain S3 client, used by connected storage (storage/cloud/s3) and by the bucket of package objects.
// Start here: client.ts sends signed requests, responses.ts parses their XML, failures.ts names why a request was refused.
import { createHash } from "node:crypto";
import type { ReadFailure } from "../cloud/outcomes.ts";
import type { ProviderDeps } from "../cloud/provider.ts";
import { createTransport, type ProviderAnswer } from "../cloud/transport.ts";
import { readError, readFields, readPage, type ListedPage } from "./responses.ts";
import { toFailure, type Refused } from "./failures.ts";
import { EMPTY_HASH, encodePath, encodeQuery, sha256, sign, type SigningKeys } from "./signing.ts";

/** The address of a bucket and the credentials. */
export interface BucketAddress {
  /** Scheme, host and port. */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** Whether the bucket is in the path (path style), not in the host name. */
  readonly isPathStyle: boolean;
  readonly keys: SigningKeys;
}

/** One request to the bucket. */
export interface BucketRequest {
  readonly method: string;
  /** Absent for requests to the bucket itself. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** The SHA-256 of the body in hex when the caller has it already; otherwise it is computed. */
  readonly bodySha256?: string;
  /** Whether the server moves bytes within the storage, which may take minutes. */
  readonly isLong?: boolean;
  readonly signal: AbortSignal;
}

export interface Answered {
  readonly kind: "answered";
  readonly answer: ProviderAnswer;
}

/** Metadata of an object from its response headers. */
export interface ObjectHead {
  readonly kind: "object";
  /** Without quotes. */
  readonly etag: string;
  readonly size: number;
  /** Epoch milliseconds, whole seconds. */
  readonly modifiedAt: number | undefined;
  readonly versionId: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Sends signed requests to one bucket. Repeats a request only once, and only when the server names the bucket's region or
 * demands a checksum besides the signed one, as buckets with object lock do.
 */
export type BucketClient = ReturnType<typeof createBucketClient>;

const REGION = /^[a-z0-9-]{1,40}$/;

export function createBucketClient(
  address: BucketAddress,
  deps: Pick<ProviderDeps, "guarded" | "clock">,
) {
  const transport = createTransport(deps.guarded);
  let { region, endpoint } = address;
  let wantsMd5 = false;

  async function sendOnce(request: BucketRequest, withMd5: boolean): Promise<Answered | Refused> {
    const { method, key, query = {}, headers = {}, body, signal, isLong = false } = request;
    const payloadHash = body === undefined ? EMPTY_HASH : (request.bodySha256 ?? sha256(body));
    // A proxy may drop a range, which the response shows; if the range were signed, the refusal would look like a wrong key.
    const { range, ...others } = headers;
    const signable =
      withMd5 && method === "PUT" && body !== undefined
        ? { ...others, "content-md5": contentMd5(body) }
        : others;
    const base = new URL(endpoint);
    const host = address.isPathStyle ? base.host : `${address.bucket}.${base.host}`;
    const inPath = address.isPathStyle ? `/${address.bucket}` : "";
    const path = encodePath(
      `${inPath}${key === undefined && inPath !== "" ? "" : "/"}${key ?? ""}`,
    );
    const search = encodeQuery(query);
    const signed = sign(
      {
        method,
        host,
        path,
        query: search,
        headers: signable,
        payloadHash,
      },
      address.keys,
      region,
      deps.clock(),
    );
    const answer = await transport.send({
      method,
      url: `${base.protocol}//${host}/`,
      path: search === "" ? path : `${path}?${search}`,
      headers: {
        ...signed,
        ...(range === undefined ? {} : { range }),
        // Without a body undici sends no content-length, which some servers demand of every PUT and POST.
        ...(body === undefined && needsLength(method) ? { "content-length": "0" } : {}),
      },
      body,
      signal,
      isLong,
    });
    if (answer.kind === "offline")
      return { kind: "refused", status: 0, code: "", headers: {}, failure: answer };
    if (answer.status >= 200 && answer.status < 300) return { kind: "answered", answer };
    return refuse(answer, request);
  }

  async function refuse(answer: ProviderAnswer, { method, key }: BucketRequest): Promise<Refused> {
    const { status, headers } = answer;
    const body = method === "HEAD" ? (await answer.text(), undefined) : await readError(answer);
    const code = body?.code ?? "";
    const allHeaders = {
      ...headers,
      ...(body?.region ? { "x-amz-bucket-region": body.region } : {}),
      ...(body?.actualSize ? { "x-actual-size": body.actualSize } : {}),
    };
    return {
      kind: "refused",
      status,
      code,
      headers: allHeaders,
      failure: toFailure(
        { status, code, headers, hasKey: key !== undefined && key !== "" },
        deps.clock(),
      ),
    };
  }

  /** A missing checksum has no specific error code. */
  async function sendWithChecksum(request: BucketRequest): Promise<Answered | Refused> {
    const withMd5 = wantsMd5;
    const first = await sendOnce(request, withMd5);
    const isMissing = first.kind === "refused" && first.code === "InvalidRequest";
    const isWritten = request.method === "PUT" && request.body !== undefined;
    if (!isMissing || withMd5 || !isWritten) return first;
    const retried = await sendOnce(request, true);
    wantsMd5 ||= retried.kind === "answered";
    return retried;
  }

  const send = async (request: BucketRequest): Promise<Answered | Refused> => {
    const first = await sendWithChecksum(request);
    if (first.kind === "answered" || !isElsewhere(first)) return first;
    const bucketRegion = first.headers["x-amz-bucket-region"] ?? "";
    const regionalEndpoint = toRegionalEndpoint(endpoint, bucketRegion);
    if (!REGION.test(bucketRegion) || (bucketRegion === region && regionalEndpoint === endpoint))
      return first;
    region = bucketRegion;
    endpoint = regionalEndpoint;
    return sendWithChecksum(request);
  };

  const client = {
    /** The region of the bucket, as far as known. */
    region: (): string => region,
    /** Returns responses of status 2xx; others are refusals, whose body is read. */
    send,

    /** Sends a request and discards the response body. */
    async sendAndDiscard(
      request: BucketRequest,
    ): Promise<{ readonly kind: "done"; readonly headers: ProviderAnswer["headers"] } | Refused> {
      const sent = await send(request);
      if (sent.kind === "refused") return sent;
      // Read to the end, so that the connection can be reused.
      await sent.answer.text();
      return { kind: "done", headers: sent.answer.headers };
    },

    /**
     * Sends a request that may fail after its status was sent and returns the top-level fields of the response's XML. An
     * `Error` in a body of status 200 is a refusal. The document element may have any name: servers differ in it. A response
     * without the field `required` is invalid: `offline`.
     */
    async sendForFields(
      request: BucketRequest,
      required: string,
    ): Promise<
      | {
          readonly kind: "done";
          readonly headers: ProviderAnswer["headers"];
          readonly fields: Readonly<Record<string, string>>;
        }
      | Refused
    > {
      const sent = await send(request);
      if (sent.kind === "refused") return sent;
      const { headers } = sent.answer;
      const read = await readFields(sent.answer);
      if (read.kind !== "ok") return toRefused(0, read);
      if (read.root !== "Error" && read.fields[required])
        return { kind: "done", headers, fields: read.fields };
      const code = read.root === "Error" ? (read.fields["Code"] ?? "") : "";
      if (code === "") return toRefused(0, { kind: "offline", sent: true, note: "not_an_answer" });
      // The status for a failure that the server reports after a status 200.
      return {
        kind: "refused",
        status: 200,
        code,
        headers,
        failure: toFailure({ status: 500, code, headers }, deps.clock()),
      };
    },

    async head(key: string, signal: AbortSignal): Promise<ObjectHead | Refused> {
      const sent = await send({ method: "HEAD", key, signal });
      if (sent.kind === "refused") {
        if (sent.status !== 403 && sent.status !== 400 && sent.status !== 301) return sent;
        // A response to HEAD states no reason, but a listing with the same credentials does.
        const page = await client.page({ "max-keys": "1", prefix: key }, signal);
        return page.kind === "refused" ? page : sent;
      }
      await sent.answer.text();
      const head = toObjectHead(sent.answer.headers);
      return head ?? toRefused(0, { kind: "offline", sent: true, note: "not_an_object" });
    },

    async page(
      query: Readonly<Record<string, string>>,
      signal: AbortSignal,
    ): Promise<ListedPage | Refused> {
      const listing = "versions" in query ? {} : { "list-type": "2" };
      const sent = await send({
        method: "GET",
        query: { "max-keys": "1000", "encoding-type": "url", ...listing, ...query },
        signal,
      });
      if (sent.kind === "refused") return sent;
      const page = await readPage(sent.answer);
      return page.kind === "ok" ? page : toRefused(0, page);
    },
  };
  return client;
}

/** Returns the address of a bucket in the region that the server named. */
export function toRegion(address: BucketAddress, region: string): BucketAddress {
  return region === address.region
    ? address
    : { ...address, region, endpoint: toRegionalEndpoint(address.endpoint, region) };
}

/** A failure without a response. */
function toRefused(status: number, failure: ReadFailure): Refused {
  return { kind: "refused", status, code: "", headers: {}, failure };
}

/** Reads the metadata from an object's response headers; undefined when they are not an object's. */
export function toObjectHead(headers: Readonly<Record<string, string>>): ObjectHead | undefined {
  const length = headers["content-length"];
  if (headers["etag"] === undefined || length === undefined || !/^\d{1,15}$/.test(length))
    return undefined;
  return {
    kind: "object",
    etag: unquote(headers["etag"]),
    size: Number(length),
    modifiedAt: toSeconds(headers["last-modified"]),
    versionId: toVersionId(headers["x-amz-version-id"]),
    headers,
  };
}

/** Listings use milliseconds, headers whole seconds: both are rounded to seconds, so that they agree. */
export function toSeconds(text: string | undefined): number | undefined {
  const ms = Date.parse(text ?? "");
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000) * 1000;
}

/** Entity tags come with and without quotes. */
export function unquote(etag: string): string {
  return etag.replace(/^"|"$/g, "");
}

/** `null` is the version id of an object that was written while versioning was off. */
export function toVersionId(text: string | undefined): string | undefined {
  return text === undefined || text === "" || text === "null" ? undefined : text;
}

/** Returns the MD5 in base64, which batch requests must carry. */
export function contentMd5(body: Uint8Array): string {
  return createHash("md5").update(body).digest("base64");
}

function needsLength(method: string): boolean {
  return method === "PUT" || method === "POST";
}

function isElsewhere({ status, code }: Refused): boolean {
  return (
    status === 301 ||
    status === 307 ||
    code === "AuthorizationHeaderMalformed" ||
    code === "IllegalLocationConstraintException" ||
    (status === 400 && code === "")
  );
}

/** Amazon has one host per region; elsewhere the region changes only the signature. No other redirect target is trusted. */
function toRegionalEndpoint(endpoint: string, region: string): string {
  const url = new URL(endpoint);
  const amazon = /^s3(?:[.-](?:dualstack\.)?[a-z0-9-]+)?\.amazonaws\.com(\.cn)?$/.exec(
    url.hostname,
  );
  return amazon === null
    ? endpoint
    : `${url.protocol}//s3.${region}.amazonaws.com${amazon[1] ?? ""}`;
}
