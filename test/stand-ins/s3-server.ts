import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { parseArgs } from "node:util";
import { readBody } from "./answers.ts";
import { checkSignature, type S3Key, type S3Refusal } from "./s3-signature.ts";
import { createS3Store, md5, type S3Store, type S3Version } from "./s3-store.ts";
import { serve, type Served } from "./serve.ts";

/** How servers that speak S3 differ. */
export interface S3ServerOptions {
  readonly port?: number;
  readonly bucket?: string;
  readonly region?: string;
  readonly key?: S3Key;
  /** How the server treats conditions on writes, copies and deletes; servers that ignore them are dangerous. */
  readonly conditions?: "kept" | "ignored" | "not_implemented";
  /** Copies and deletes of multipart objects compare with a tag that is never returned, as in OpenStack Swift. */
  readonly hidesPartTags?: boolean;
  readonly isVersioned?: boolean;
  /** As MinIO and moto: folders that contain delete markers only are listed. */
  readonly listsDeletedFolders?: boolean;
  /** As Versity's gateway: a delete marker counts as an object for `If-None-Match`. */
  readonly markersCount?: boolean;
  /** As rclone: the response to the start of a multipart upload has another document element. */
  readonly otherElements?: boolean;
  /** Names with a backslash are refused with status 400 and this code, as by S3Mock. */
  readonly refusesBackslash?: string;
  /** Accepts bytes only with `Content-MD5`, as buckets with object lock do. */
  readonly wantsChecksums?: boolean;
  /** The most entries of a page, regardless of the request. */
  readonly pageEntries?: number;
  /** Smallest part but the last one. */
  readonly partBytesMin?: number;
  /** How `encoding-type=url` is kept: Amazon's way, by percent signs alone, for keys only, or not at all. */
  readonly encoding?: "form" | "percent" | "keys" | "none";
  /** Many objects at once can be deleted. */
  readonly hasBatches?: boolean;
  /** Reports the region with status 301, as Amazon's global endpoint does, not with 400. */
  readonly redirectsRegions?: boolean;
  /** Epoch milliseconds. */
  readonly clock?: () => number;
}

/** The facts of a request on which the server decides. */
export interface S3Request {
  readonly method: string;
  /** Undefined for the bucket itself. */
  readonly key: string | undefined;
  readonly query: ReadonlyMap<string, string>;
  readonly headers: IncomingMessage["headers"];
}

/** A server of one bucket, in memory. */
export interface S3Server extends Served {
  readonly bucket: string;
  readonly region: string;
  readonly key: S3Key;
  readonly store: S3Store;
  /** Refuses the next `times` requests that `accept` matches; without a number all of them. */
  refuse(accept: (request: S3Request) => boolean, refusal: S3Refusal, times?: number): void;
  /** The next copy or completion fails after its status of 200 was sent. */
  failInBody(code: string): void;
  /** The next complete page is marked as truncated, but has no continuation token. */
  cutNextPage(): void;
  /** The server alters the bytes of uploads. */
  alterUploads(): void;
  /** Ends everything that was to go wrong. */
  calm(): void;
  /** Requests so far, as `METHOD key?query`. */
  readonly log: readonly string[];
}

/** The documentation's own example key. */
export const S3_KEY: S3Key = {
  id: "AKIAIOSFODNN7EXAMPLE",
  secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
};

const NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/";
const KEPT = /^(content-(type|encoding|language|disposition)|cache-control|expires|x-amz-meta-.+)$/;

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | number>>;
  readonly body?: Buffer | string;
}

class Refused extends Error {
  readonly refusal: S3Refusal;
  constructor(refusal: S3Refusal) {
    super(refusal.code);
    this.refusal = refusal;
  }
}

/** Starts a server that behaves as the public API documentation of Amazon S3 says. `await using` stops it. */
export async function startS3Server(options: S3ServerOptions = {}): Promise<S3Server> {
  const {
    bucket = "croft-test",
    region = "us-east-1",
    key: knownKey = S3_KEY,
    conditions = "kept",
    pageEntries = 1000,
    partBytesMin = 5 * 1024 * 1024,
    encoding = "form",
    hasBatches = true,
    clock = Date.now,
  } = options;
  const store = createS3Store(clock);
  store.isVersioned = options.isVersioned ?? false;
  store.listsDeletedFolders = options.listsDeletedFolders ?? false;
  const log: string[] = [];
  let refusals: {
    readonly accept: (request: S3Request) => boolean;
    readonly refusal: S3Refusal;
    times: number;
  }[] = [];
  let inBody: string | undefined;
  let isNextPageCut = false;
  let altersUploads = false;

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(incoming);
    const answer = decide(incoming, body);
    const isHead = incoming.method === "HEAD";
    const bytes = Buffer.from(answer.body ?? "");
    response.writeHead(answer.status, {
      "x-amz-request-id": "0123456789ABCDEF",
      server: "stand-in",
      ...(isHead ? {} : { "content-length": bytes.length }),
      ...answer.headers,
    });
    response.end(isHead ? undefined : bytes);
  }

  function decide(incoming: IncomingMessage, body: Buffer): Answer {
    try {
      const request = toRequest(incoming);
      const query = [...request.query].map(([name, value]) => `${name}=${value}`).join("&");
      log.push(`${request.method} ${request.key ?? ""}${query === "" ? "" : `?${query}`}`);
      const planned = refusals.find(({ accept, times }) => times > 0 && accept(request));
      if (options.refusesBackslash !== undefined && request.key?.includes("\\") === true)
        throw new Refused({ status: 400, code: options.refusesBackslash });
      if (planned !== undefined) {
        planned.times -= 1;
        throw new Refused(planned.refusal);
      }
      const unsigned = checkSignature(incoming, body, { key: knownKey, region, nowMs: clock() });
      if (unsigned !== undefined) throw new Refused(toElsewhere(unsigned));
      return request.key === undefined
        ? onBucket(request, body)
        : onObject(request, request.key, body);
    } catch (error) {
      if (error instanceof Refused) return toError(error.refusal);
      throw error;
    }
  }

  function toElsewhere(refusal: S3Refusal): S3Refusal {
    return options.redirectsRegions === true && refusal.code === "AuthorizationHeaderMalformed"
      ? { status: 301, code: "PermanentRedirect", headers: { "x-amz-bucket-region": region } }
      : refusal;
  }

  function toRequest(incoming: IncomingMessage): S3Request {
    const raw = incoming.url ?? "/";
    const [path = "/", search = ""] = raw.split(/\?(.*)/s);
    const isVirtual = (incoming.headers.host ?? "").startsWith(`${bucket}.`);
    const decoded = decodeURIComponent(path).slice(1);
    const name = isVirtual ? bucket : (decoded.split("/", 1)[0] ?? "");
    if (name !== bucket) throw new Refused({ status: 404, code: "NoSuchBucket" });
    const key = isVirtual ? decoded : decoded.slice(name.length + 1);
    if (Buffer.byteLength(key) > 1024) throw new Refused({ status: 400, code: "KeyTooLongError" });
    const query = new Map(
      search
        .split("&")
        .filter((pair) => pair !== "")
        .map((pair) => {
          const [left = "", ...right] = pair.split("=");
          return [decodeURIComponent(left), decodeURIComponent(right.join("="))] as const;
        }),
    );
    return {
      method: incoming.method ?? "",
      key: key === "" ? undefined : key,
      query,
      headers: incoming.headers,
    };
  }

  function onBucket({ method, query, headers }: S3Request, body: Buffer): Answer {
    if (method === "GET" && query.get("list-type") === "2") return listObjects(query);
    if (method === "GET" && query.has("versions")) return listVersions(query);
    if (method === "GET" && query.has("uploads")) return listUploads(query);
    if (method === "GET" && query.has("versioning"))
      return xml("VersioningConfiguration", store.isVersioned ? { Status: "Enabled" } : {});
    if (method === "POST" && query.has("delete")) return deleteMany(headers, body);
    if (method === "HEAD") return { status: 200, headers: { "x-amz-bucket-region": region } };
    throw new Refused({ status: 501, code: "NotImplemented" });
  }

  function onObject(request: S3Request, key: string, body: Buffer): Answer {
    const { method, query, headers } = request;
    switch (method) {
      case "GET":
        return query.has("uploadId") ? listParts(key, query) : getObject(key, request);
      case "HEAD":
        return getObject(key, request);
      case "PUT":
        if (query.has("partNumber")) return putPart(request, body);
        return headers["x-amz-copy-source"] === undefined
          ? putObject(key, request, body)
          : copyObject(key, request);
      case "POST":
        if (query.has("uploads")) {
          const uploadId = store.startUpload(key, keptOf(headers));
          const element = options.otherElements === true ? "" : "Result";
          return xml(`InitiateMultipartUpload${element}`, {
            Bucket: bucket,
            Key: key,
            UploadId: uploadId,
          });
        }
        if (query.has("uploadId")) return completeUpload(key, request, body);
        break;
      case "DELETE":
        return query.has("uploadId") ? abortUpload(query) : deleteObject(key, request);
    }
    throw new Refused({ status: 405, code: "MethodNotAllowed" });
  }

  function getObject(key: string, { method, query, headers }: S3Request): Answer {
    const id = query.get("versionId");
    const found = id === undefined ? store.current(key) : store.version(key, id);
    if (found === undefined || found.isMarker)
      throw new Refused({ status: 404, code: id === undefined ? "NoSuchKey" : "NoSuchVersion" });
    const match = headers["if-match"];
    if (match !== undefined && match !== "*" && bare(match) !== found.etag)
      throw new Refused({ status: 412, code: "PreconditionFailed" });
    const common = {
      "content-type": "binary/octet-stream",
      ...found.headers,
      etag: `"${found.etag}"`,
      "last-modified": new Date(found.modifiedAt).toUTCString(),
      "accept-ranges": "bytes",
      ...versionHeaders(found),
    };
    const size = found.bytes.length;
    const range = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? "");
    if (range === null || method === "HEAD")
      return { status: 200, headers: { ...common, "content-length": size }, body: found.bytes };
    const start = Number(range[1]);
    const end = Math.min(range[2] === "" ? Infinity : Number(range[2]), size - 1);
    if (start >= size)
      throw new Refused({
        status: 416,
        code: "InvalidRange",
        more: { ActualObjectSize: String(size) },
      });
    const part = found.bytes.subarray(start, end + 1);
    const headersOfPart = {
      "content-length": part.length,
      "content-range": `bytes ${start}-${end}/${size}`,
    };
    return { status: 206, headers: { ...common, ...headersOfPart }, body: part };
  }

  function assertChecksum({ headers }: S3Request, body: Buffer): void {
    const said = headers["content-md5"];
    if (said === undefined && options.wantsChecksums === true)
      throw new Refused({ status: 400, code: "InvalidRequest" });
    if (said !== undefined && said !== createHash("md5").update(body).digest("base64"))
      throw new Refused({ status: 400, code: "BadDigest" });
  }

  function putObject(key: string, request: S3Request, body: Buffer): Answer {
    const { headers } = request;
    assertChecksum(request, body);
    if (headers["content-length"] === undefined)
      throw new Refused({ status: 411, code: "MissingContentLength" });
    assertFree(key, headers);
    assertTag(key, headers);
    const kept =
      altersUploads && !key.includes(".croft/") ? Buffer.concat([body, Buffer.from("!")]) : body;
    const made = store.put(key, kept, keptOf(headers));
    return { status: 200, headers: { etag: `"${made.etag}"`, ...versionHeaders(made) } };
  }

  /** Checks `If-None-Match: *` as this server does. */
  function assertFree(key: string, headers: S3Request["headers"]): void {
    if (headers["if-none-match"] === undefined) return;
    assertImplemented();
    const isTaken =
      store.current(key) !== undefined || (options.markersCount === true && store.hasMarker(key));
    if (conditions === "kept" && isTaken)
      throw new Refused({ status: 412, code: "PreconditionFailed" });
  }

  /** `If-Match`, as this server keeps it. */
  function assertTag(key: string, headers: S3Request["headers"]): void {
    const match = headers["if-match"];
    if (match === undefined) return;
    assertImplemented();
    if (conditions !== "kept") return;
    const there = store.current(key);
    if (there === undefined) throw new Refused({ status: 404, code: "NoSuchKey" });
    if (match !== "*" && !isSame(match, there.etag))
      throw new Refused({ status: 412, code: "PreconditionFailed" });
  }

  function assertImplemented(): void {
    if (conditions === "not_implemented")
      throw new Refused({ status: 501, code: "NotImplemented" });
  }

  function sourceOf({ headers }: S3Request): S3Version {
    const named = decodeURIComponent(String(headers["x-amz-copy-source"])).replace(/^\//, "");
    const [path = "", id] = named.split("?versionId=");
    const key = path.slice(bucket.length + 1);
    const found = id === undefined ? store.current(key) : store.version(key, id);
    if (!path.startsWith(`${bucket}/`) || found === undefined)
      throw new Refused({ status: 404, code: "NoSuchKey" });
    const match = headers["x-amz-copy-source-if-match"];
    if (match !== undefined) {
      assertImplemented();
      if (conditions === "kept" && !isSame(String(match), found.etag))
        throw new Refused({ status: 412, code: "PreconditionFailed" });
    }
    return found;
  }

  function copyObject(key: string, request: S3Request): Answer {
    const source = sourceOf(request);
    assertFree(key, request.headers);
    const failed = takeInBody();
    if (failed !== undefined) return failed;
    const made = store.put(key, source.bytes, source.headers);
    const fields = { ETag: `"${made.etag}"`, LastModified: iso(made.modifiedAt) };
    return { ...xml("CopyObjectResult", fields), headers: versionHeaders(made) };
  }

  function putPart(request: S3Request, body: Buffer): Answer {
    const { query, headers } = request;
    const upload = store.uploads.get(query.get("uploadId") ?? "");
    if (upload === undefined) throw new Refused({ status: 404, code: "NoSuchUpload" });
    const number = Number(query.get("partNumber"));
    if (!(number >= 1 && number <= 10_000))
      throw new Refused({ status: 400, code: "InvalidArgument" });
    if (headers["x-amz-copy-source"] === undefined) {
      assertChecksum(request, body);
      upload.parts.set(number, { bytes: body, etag: md5(body) });
      return { status: 200, headers: { etag: `"${md5(body)}"` } };
    }
    const source = sourceOf(request);
    const range = /^bytes=(\d+)-(\d+)$/.exec(String(headers["x-amz-copy-source-range"] ?? ""));
    const bytes =
      range === null ? source.bytes : source.bytes.subarray(Number(range[1]), Number(range[2]) + 1);
    upload.parts.set(number, { bytes, etag: md5(bytes) });
    return xml("CopyPartResult", { ETag: `"${md5(bytes)}"`, LastModified: iso(clock()) });
  }

  function listParts(key: string, query: S3Request["query"]): Answer {
    const upload = store.uploads.get(query.get("uploadId") ?? "");
    if (upload === undefined || upload.key !== key)
      throw new Refused({ status: 404, code: "NoSuchUpload" });
    const after = Number(query.get("part-number-marker") ?? 0);
    const all = [...upload.parts].sort(([one], [other]) => one - other);
    const rest = all.filter(([number]) => number > after);
    const page = rest.slice(0, pageEntries);
    const isTruncated = page.length < rest.length;
    const parts = page.map(
      ([number, { etag, bytes }]) =>
        `<Part><PartNumber>${number}</PartNumber><ETag>"${etag}"</ETag><Size>${bytes.length}</Size></Part>`,
    );
    const marker = `<NextPartNumberMarker>${page.at(-1)?.[0] ?? 0}</NextPartNumberMarker>`;
    const listed = `<IsTruncated>${isTruncated}</IsTruncated>${marker}${parts.join("")}`;
    return xmlBody("ListPartsResult", listed);
  }

  function completeUpload(key: string, { query, headers }: S3Request, body: Buffer): Answer {
    const id = query.get("uploadId") ?? "";
    const upload = store.uploads.get(id);
    if (upload === undefined || upload.key !== key)
      throw new Refused({ status: 404, code: "NoSuchUpload" });
    const wanted = [...body.toString().matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, part = ""]) => ({
      number: Number(/<PartNumber>\s*(\d+)\s*</.exec(part)?.[1]),
      etag: bare(unescape(/<ETag>(.*?)<\/ETag>/s.exec(part)?.[1] ?? "")),
    }));
    if (wanted.length === 0) throw new Refused({ status: 400, code: "MalformedXML" });
    const parts = wanted.map(({ number, etag }, at) => {
      const part = upload.parts.get(number);
      if (part === undefined || part.etag !== etag)
        throw new Refused({ status: 400, code: "InvalidPart" });
      if (number <= (wanted[at - 1]?.number ?? 0))
        throw new Refused({ status: 400, code: "InvalidPartOrder" });
      if (at < wanted.length - 1 && part.bytes.length < partBytesMin)
        throw new Refused({ status: 400, code: "EntityTooSmall" });
      return part;
    });
    assertFree(key, headers);
    assertTag(key, headers);
    const failed = takeInBody();
    if (failed !== undefined) return failed;
    const digest = createHash("md5");
    for (const part of parts) digest.update(Buffer.from(part.etag, "hex"));
    const etag = `${digest.digest("hex")}-${parts.length}`;
    const made = store.put(
      key,
      Buffer.concat(parts.map((part) => part.bytes)),
      upload.headers,
      etag,
    );
    store.uploads.delete(id);
    const fields = { Bucket: bucket, Key: key, ETag: `"${etag}"` };
    return { ...xml("CompleteMultipartUploadResult", fields), headers: versionHeaders(made) };
  }

  function abortUpload(query: S3Request["query"]): Answer {
    if (!store.uploads.delete(query.get("uploadId") ?? ""))
      throw new Refused({ status: 404, code: "NoSuchUpload" });
    return { status: 204 };
  }

  function isSame(match: string, etag: string | undefined): boolean {
    return bare(match) === etag && !(options.hidesPartTags === true && etag.includes("-"));
  }

  function deleteObject(key: string, { query, headers }: S3Request): Answer {
    const id = query.get("versionId");
    assertTag(key, headers);
    const { marker } = store.remove(key, id);
    return {
      status: 204,
      headers:
        marker === undefined
          ? {}
          : { "x-amz-delete-marker": "true", "x-amz-version-id": marker.id },
    };
  }

  function deleteMany(headers: S3Request["headers"], body: Buffer): Answer {
    if (!hasBatches) throw new Refused({ status: 501, code: "NotImplemented" });
    const digest = createHash("md5").update(body).digest("base64");
    if (headers["content-md5"] !== digest && headers["x-amz-sdk-checksum-algorithm"] === undefined)
      throw new Refused({ status: 400, code: "InvalidDigest" });
    const wanted = [...body.toString().matchAll(/<Object>(.*?)<\/Object>/gs)].map(([, object]) => ({
      key: unescape(/<Key>(.*?)<\/Key>/s.exec(object ?? "")?.[1] ?? ""),
      versionId: /<VersionId>(.*?)<\/VersionId>/s.exec(object ?? "")?.[1],
    }));
    // Nothing that XML 1.0 has no way to spell.
    if (wanted.some(({ key }) => /(?![\t\r\n])\p{Cc}/u.test(key)))
      throw new Refused({ status: 400, code: "MalformedXML" });
    if (wanted.length > 1000) throw new Refused({ status: 400, code: "MalformedXML" });
    const isQuiet = body.toString().includes("<Quiet>true</Quiet>");
    const lines = wanted.map(({ key, versionId }) => {
      const request = { method: "DELETE", key, query: new Map(), headers: {} };
      const planned = refusals.find(({ accept, times }) => times > 0 && accept(request));
      if (planned !== undefined)
        return `<Error><Key>${escape(key)}</Key><Code>${planned.refusal.code}</Code><Message>no</Message></Error>`;
      store.remove(key, versionId);
      return isQuiet ? "" : `<Deleted><Key>${escape(key)}</Key></Deleted>`;
    });
    return xmlBody("DeleteResult", lines.join(""));
  }

  function listObjects(query: S3Request["query"]): Answer {
    const prefix = query.get("prefix") ?? "";
    const delimiter = query.get("delimiter") ?? "";
    const token = query.get("continuation-token");
    const max = Math.min(Number(query.get("max-keys") ?? 1000), 1000, pageEntries);
    const after =
      token === undefined
        ? (query.get("start-after") ?? "")
        : Buffer.from(token, "base64url").toString();
    const { objects, prefixes, next } = store.list({ prefix, delimiter, after, max });
    const isEncoded = query.get("encoding-type") === "url" && encoding !== "none";
    const spell = (text: string, isKey: boolean) =>
      escape(isEncoded && (isKey || encoding !== "keys") ? urlEncode(text, encoding) : text);
    const isCut = isNextPageCut;
    isNextPageCut = false;
    const body = [
      `<Name>${escape(bucket)}</Name>`,
      `<Prefix>${spell(prefix, true)}</Prefix>`,
      `<KeyCount>${objects.length + prefixes.length}</KeyCount><MaxKeys>${max}</MaxKeys>`,
      isEncoded ? "<EncodingType>url</EncodingType>" : "",
      delimiter === "" ? "" : `<Delimiter>${escape(delimiter)}</Delimiter>`,
      `<IsTruncated>${isCut || next !== undefined}</IsTruncated>`,
      next === undefined || isCut
        ? ""
        : `<NextContinuationToken>${Buffer.from(next).toString("base64url")}</NextContinuationToken>`,
      ...objects.map(
        ({ key, version }) =>
          `<Contents><Key>${spell(key, true)}</Key><LastModified>${iso(version.modifiedAt)}</LastModified><ETag>&quot;${version.etag}&quot;</ETag><Size>${version.bytes.length}</Size><StorageClass>STANDARD</StorageClass></Contents>`,
      ),
      ...prefixes.map(
        (text) => `<CommonPrefixes><Prefix>${spell(text, false)}</Prefix></CommonPrefixes>`,
      ),
    ];
    return xmlBody("ListBucketResult", body.join(""));
  }

  function listVersions(query: S3Request["query"]): Answer {
    const max = Math.min(Number(query.get("max-keys") ?? 1000), 1000, pageEntries);
    const all = store.versions(query.get("prefix") ?? "");
    const [key, id] = [query.get("key-marker"), query.get("version-id-marker")];
    const from = key === undefined ? 0 : toPositionBehind(all, key, id);
    const page = all.slice(from, from + max);
    const last = page.at(-1);
    const isCut = from + page.length < all.length;
    const isEncoded = query.get("encoding-type") === "url" && encoding !== "none";
    const spell = (text: string) => escape(isEncoded ? urlEncode(text, encoding) : text);
    const body = [
      isEncoded ? "<EncodingType>url</EncodingType>" : "",
      `<IsTruncated>${isCut}</IsTruncated>`,
      isCut && last !== undefined
        ? `<NextKeyMarker>${spell(last.key)}</NextKeyMarker><NextVersionIdMarker>${last.version.id}</NextVersionIdMarker>`
        : "",
      ...page.map(({ key: name, version, isLatest }) => {
        const kind = version.isMarker ? "DeleteMarker" : "Version";
        const facts = version.isMarker
          ? ""
          : `<ETag>&quot;${version.etag}&quot;</ETag><Size>${version.bytes.length}</Size>`;
        return `<${kind}><Key>${spell(name)}</Key><VersionId>${version.id}</VersionId><IsLatest>${isLatest}</IsLatest><LastModified>${iso(version.modifiedAt)}</LastModified>${facts}</${kind}>`;
      }),
    ];
    return xmlBody("ListVersionsResult", body.join(""));
  }

  function listUploads(query: S3Request["query"]): Answer {
    const found = [...store.uploads].filter(([, { key }]) =>
      key.startsWith(query.get("prefix") ?? ""),
    );
    const body = found.map(
      ([id, { key, startedAt }]) =>
        `<Upload><Key>${escape(key)}</Key><UploadId>${id}</UploadId><Initiated>${iso(startedAt)}</Initiated></Upload>`,
    );
    return xmlBody(
      "ListMultipartUploadsResult",
      `<IsTruncated>false</IsTruncated>${body.join("")}`,
    );
  }

  function takeInBody(): Answer | undefined {
    if (inBody === undefined) return undefined;
    const code = inBody;
    inBody = undefined;
    return { ...xml("Error", { Code: code, Message: "no" }), status: 200 };
  }

  const served = await serve(
    async (incoming, response) => handle(incoming, response),
    options.port,
  );
  return {
    ...served,
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
    bucket,
    region,
    key: knownKey,
    store,
    log,
    refuse(accept, refusal, times = Infinity) {
      refusals.push({ accept, refusal, times });
    },
    failInBody(code) {
      inBody = code;
    },
    cutNextPage() {
      isNextPageCut = true;
    },
    alterUploads() {
      altersUploads = true;
    },
    calm() {
      refusals = [];
      inBody = undefined;
      isNextPageCut = false;
      altersUploads = false;
    },
  };
}

function toError({ status, code, more = {}, headers = {} }: S3Refusal): Answer {
  return { ...xml("Error", { Code: code, Message: "In words.", ...more }), status, headers };
}

function xml(root: string, fields: Readonly<Record<string, string>>): Answer {
  const lines = Object.entries(fields).map(([name, text]) => `<${name}>${escape(text)}</${name}>`);
  return xmlBody(root, lines.join(""));
}

function xmlBody(root: string, inner: string): Answer {
  const isError = root === "Error";
  return {
    status: 200,
    headers: { "content-type": "application/xml" },
    body: `<?xml version="1.0" encoding="UTF-8"?>\n<${root}${isError ? "" : ` xmlns="${NAMESPACE}"`}>${inner}</${root}>`,
  };
}

function keptOf(headers: S3Request["headers"]): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => KEPT.test(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}

function versionHeaders({ id }: S3Version): Record<string, string> {
  return id === "null" ? {} : { "x-amz-version-id": id };
}

/** As forms are encoded, with slashes left; or as addresses are, where a plus sign is one. */
function urlEncode(text: string, way: string): string {
  const encoded = encodeURIComponent(text)
    .replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("%2F", "/");
  return way === "percent" ? encoded.replaceAll("%2B", "+") : encoded.replaceAll("%20", "+");
}

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);
}

function unescape(text: string): string {
  return text
    .replace(/&#(\d+);/g, (_all, code: string) => String.fromCodePoint(Number(code)))
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

/** Returns the position after a version, which may have been deleted. */
function toPositionBehind(
  all: readonly { readonly key: string; readonly version: S3Version }[],
  key: string,
  id: string | undefined,
): number {
  const at = all.findIndex((one) => one.key === key && one.version.id === id);
  if (at >= 0) return at + 1;
  const isBehind = (one: string) => {
    const order = Buffer.compare(Buffer.from(one), Buffer.from(key));
    return order > 0 || (order === 0 && id !== undefined);
  };
  const next = all.findIndex((one) => isBehind(one.key));
  return next < 0 ? all.length : next;
}

function bare(etag: string): string {
  return etag.replace(/^"|"$/g, "");
}

function iso(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d{3}Z$/, ".000Z");
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "0" },
      "ignore-conditions": { type: "boolean", default: false },
      versioned: { type: "boolean", default: false },
      bucket: { type: "string", default: "croft-test" },
    },
  });
  const server = await startS3Server({
    port: Number(values.port),
    bucket: values.bucket,
    conditions: values["ignore-conditions"] ? "ignored" : "kept",
    isVersioned: values.versioned,
  });
  process.stdout.write(
    `S3 stand-in on ${server.origin}, bucket ${server.bucket}, key ${server.key.id} / ${server.key.secret}\n`,
  );
}
