// storage/cloud/s3: connections to buckets of Amazon S3 and compatible servers, on the client of storage/s3.
// Start here, then connecting.ts (settings), probe.ts (tests of the server's capabilities), s3.ts (the operations).
// Operations of several requests: relocate.ts and journal.ts (copy first, delete last), upload.ts, multipart.ts,
// remove.ts.
import type { CloudProviderType } from "../provider.ts";
import { connectS3 } from "./connecting.ts";
import type { S3Limits } from "./context.ts";
import { s3Capabilities } from "./findings.ts";
import { createSharedListings } from "./shared-listings.ts";

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/** Sizes that every server accepts. */
const S3_LIMITS: S3Limits = {
  partBytes: 8 * MIB,
  partsMax: 10_000,
  partsAtOnce: 2,
  copyBytesMax: 5 * GIB,
  copyPartBytes: GIB,
};

/** A bucket of Amazon S3, or of any compatible server. */
export const s3: CloudProviderType = createS3Type(S3_LIMITS);

/** Creates the provider type with other sizes: small ones for tests. */
export function createS3Type(limits: S3Limits): CloudProviderType {
  const listings = createSharedListings();
  return {
    type: "s3",
    recovers: true,
    title: "S3-compatible storage",
    settings: [
      {
        name: "endpoint",
        kind: "url",
        required: true,
        secret: false,
        help: "The server's address without the bucket, such as https://s3.eu-central-1.amazonaws.com",
      },
      {
        name: "bucket",
        kind: "text",
        required: true,
        secret: false,
        help: "The bucket's name",
      },
      {
        name: "region",
        kind: "text",
        required: false,
        secret: false,
        help: "The bucket's region; many servers do not care",
        default: "us-east-1",
      },
      {
        name: "prefix",
        kind: "text",
        required: false,
        secret: false,
        help: "The folder in the bucket that is shown as the root; the whole bucket without it",
      },
      {
        name: "path_style",
        kind: "switch",
        required: false,
        secret: false,
        help: "true: the bucket is in the path; false: in the host's name",
        default: "true",
      },
      {
        name: "access_key_id",
        kind: "text",
        required: true,
        secret: true,
        help: "The access key's id",
      },
      {
        name: "secret_access_key",
        kind: "text",
        required: true,
        secret: true,
        help: "The access key's secret",
      },
      {
        name: "session_token",
        kind: "text",
        required: false,
        secret: true,
        help: "The session token of temporary keys",
      },
    ],
    capabilities: s3Capabilities,
    connect: (request, deps) => connectS3(request, deps, limits, listings),
  };
}
