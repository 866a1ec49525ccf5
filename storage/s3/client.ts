// storage/s3: a plain S3 client, used by connected storage (storage/cloud/s3) and by the bucket of package objects.
// Start here: client.ts sends signed requests, responses.ts parses their XML, failures.ts names why a request was refused.
import { createHash } from "node:crypto";
import type { ReadFailure } from "../cloud/outcomes.ts";
import type { ProviderDeps } from "../cloud/provider.ts";
import { createTransport, type ProviderAnswer } from "../cloud/transport.ts";
import { readError, readFields, readPage, type ListedPage } from "./responses.ts";
import { toFailure, type Refused } from "./failures.ts";
import { EMPTY_HASH, encodePath, encodeQuery, sha256, sign, type SigningKeys } from "./signing.ts";

/** Where a bucket is and who asks. */
export interface BucketAddress {
  /** Scheme, host and port. */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** The bucket stands in the path, not in the host's name. */
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
  /** Bytes are moved within the storage, which may take minutes. */
  readonly isLong?: boolean;
  readonly signal: AbortSignal;
}

export interface Answered {
  readonly kind: "answered";
  readonly answer: ProviderAnswer;
}

/** What is known of an object from its headers. */
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
 * Signed requests to one bucket. Nothing is sent twice, but once more when the server names the bucket's region, or wants a
 * checksum besides the signed one, as buckets do that lock what is written.
 */
export interface BucketClient {
  /** The region that the bucket is known to be in by now. */
  region(): string;
  /** Answers of status 2xx; everything else is refused, its body read. */
  send(request: BucketRequest): Promise<Answered | Refused>;
  /** A request whose answer's body is of no interest. */
  ask(
    request: BucketRequest,
  ): Promise<{ readonly kind: "done"; readonly headers: ProviderAnswer["headers"] } | Refused>;
  /**
   * Sends a request that may fail after its status was sent and returns the top-level fields of the response's XML. An
   * `Error` in a body of status 200 is a refusal. The document element may have any name: servers differ in it. A response
   * without the field `required` is invalid: `offline`.
   */
  askForBody(
    request: BucketRequest,
    required: string,
  ): Promise<
    | {
        readonly kind: "done";
        readonly headers: ProviderAnswer["headers"];
        readonly fields: Readonly<Record<string, string>>;
      }
    | Refused
  >;
  head(key: string, signal: AbortSignal): Promise<ObjectHead | Refused>;
  page(query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<ListedPage | Refused>;
}

const REGION = /^[a-z0-9-]{1,40}$/;

export function createBucketClient(
  address: BucketAddress,
  deps: Pick<ProviderDeps, "guarded" | "clock">,
): BucketClient {
  const transport = createTransport(deps.guarded);
  let { region, endpoint } = address;
  let wantsMd5 = false;

  async function sendOnce(request: BucketRequest, withMd5: boolean): Promise<Answered | Refused> {
    const { method, key, query = {}, headers = {}, body, signal, isLong = false } = request;
    // What lies in between may drop a range; the answer tells, and a refusal would look like a wrong key.
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
        payloadHash: body === undefined ? EMPTY_HASH : sha256(body),
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
        // Without a body undici says nothing of a length, which some servers demand of every PUT and POST.
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
    const said = {
      ...headers,
      ...(body?.region ? { "x-amz-bucket-region": body.region } : {}),
      ...(body?.actualSize ? { "x-actual-size": body.actualSize } : {}),
    };
    return {
      kind: "refused",
      status,
      code,
      headers: said,
      failure: toFailure(
        { status, code, headers, hasKey: key !== undefined && key !== "" },
        deps.clock(),
      ),
    };
  }

  /** That a checksum is missing has no code of its own. */
  async function sendWithChecksum(request: BucketRequest): Promise<Answered | Refused> {
    const withMd5 = wantsMd5;
    const first = await sendOnce(request, withMd5);
    const isMissing = first.kind === "refused" && first.code === "InvalidRequest";
    const isWritten = request.method === "PUT" && request.body !== undefined;
    if (!isMissing || withMd5 || !isWritten) return first;
    const again = await sendOnce(request, true);
    wantsMd5 ||= again.kind === "answered";
    return again;
  }

  const send: BucketClient["send"] = async (request) => {
    const first = await sendWithChecksum(request);
    if (first.kind === "answered" || !isElsewhere(first)) return first;
    const said = first.headers["x-amz-bucket-region"] ?? "";
    const there = toRegionalEndpoint(endpoint, said);
    if (!REGION.test(said) || (said === region && there === endpoint)) return first;
    region = said;
    endpoint = there;
    return sendWithChecksum(request);
  };

  const client: BucketClient = {
    region: () => region,
    send,

    async ask(request) {
      const sent = await send(request);
      if (sent.kind === "refused") return sent;
      // Read to its end, so that the connection can be used again.
      await sent.answer.text();
      return { kind: "done", headers: sent.answer.headers };
    },

    async askForBody(request, required) {
      const sent = await send(request);
      if (sent.kind === "refused") return sent;
      const { headers } = sent.answer;
      const read = await readFields(sent.answer);
      if (read.kind !== "ok") return toRefused(0, read);
      if (read.root !== "Error" && read.fields[required])
        return { kind: "done", headers, fields: read.fields };
      const code = read.root === "Error" ? (read.fields["Code"] ?? "") : "";
      if (code === "") return toRefused(0, { kind: "offline", sent: true, note: "not_an_answer" });
      // What would have been the status, had it been known in time.
      return {
        kind: "refused",
        status: 200,
        code,
        headers,
        failure: toFailure({ status: 500, code, headers }, deps.clock()),
      };
    },

    async head(key, signal) {
      const sent = await send({ method: "HEAD", key, signal });
      if (sent.kind === "refused") {
        if (sent.status !== 403 && sent.status !== 400 && sent.status !== 301) return sent;
        // An answer to HEAD gives no reason: the same person's listing does.
        const page = await client.page({ "max-keys": "1", prefix: key }, signal);
        return page.kind === "refused" ? page : sent;
      }
      await sent.answer.text();
      const head = toObjectHead(sent.answer.headers);
      return head ?? toRefused(0, { kind: "offline", sent: true, note: "not_an_object" });
    },

    async page(query, signal) {
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

/** A bucket's address in the region that it was found to lie in. */
export function toRegion(address: BucketAddress, region: string): BucketAddress {
  return region === address.region
    ? address
    : { ...address, region, endpoint: toRegionalEndpoint(address.endpoint, region) };
}

/** A failure without an answer of its own. */
function toRefused(status: number, failure: ReadFailure): Refused {
  return { kind: "refused", status, code: "", headers: {}, failure };
}

/** What an object's headers tell; undefined when they are not an object's. */
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

/** Listings tell milliseconds, headers whole seconds: both as seconds, so that they agree. */
export function toSeconds(text: string | undefined): number | undefined {
  const ms = Date.parse(text ?? "");
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000) * 1000;
}

/** Entity tags come with quotes and without. */
export function unquote(etag: string): string {
  return etag.replace(/^"|"$/g, "");
}

/** `null` is what an object is called that was written while versions were not kept. */
export function toVersionId(text: string | undefined): string | undefined {
  return text === undefined || text === "" || text === "null" ? undefined : text;
}

/** MD5 in base 64: what batches must bear. */
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

/** Amazon has a host per region; elsewhere the region changes the signature only. No other host is ever believed. */
function toRegionalEndpoint(endpoint: string, region: string): string {
  const url = new URL(endpoint);
  const amazon = /^s3(?:[.-](?:dualstack\.)?[a-z0-9-]+)?\.amazonaws\.com(\.cn)?$/.exec(
    url.hostname,
  );
  return amazon === null
    ? endpoint
    : `${url.protocol}//s3.${region}.amazonaws.com${amazon[1] ?? ""}`;
}
