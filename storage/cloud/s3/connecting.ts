import { ADDRESS_REFUSED } from "../transport.ts";
import type { ConnectFailure } from "../outcomes.ts";
import type { ConnectOutcome, ConnectRequest, ProviderDeps } from "../provider.ts";
import { createBucketClient, toRegion, type BucketAddress } from "../../s3/client.ts";
import type { S3Limits, Store } from "./context.ts";
import { toFindings, toCapabilities } from "./findings.ts";
import { createKeys } from "./keys.ts";
import { createS3, checkBucket } from "./s3.ts";
import type { SharedListings } from "./shared-listings.ts";

/** Opens a bucket: from a saved probe result, or by probing without them. */
export async function connectS3(
  request: ConnectRequest,
  deps: ProviderDeps,
  limits: S3Limits,
  listings: SharedListings,
): Promise<ConnectOutcome> {
  const { settings, credentials, probeResult, connectionId, signal } = request;
  const address = toAddress(settings, credentials);
  if ("kind" in address) return address;
  const root = toRoot(settings["prefix"] ?? "");
  if (typeof root === "object") return root;
  const findings = toFindings(probeResult ?? {}, address.region);
  const store: Store = {
    client: createBucketClient(toRegion(address, findings.region), deps),
    keys: createKeys(root),
    findings,
    limits,
    deps,
    bucket: address.bucket,
    connectionId,
    scope: `s3:${address.endpoint}/${address.bucket}`,
    listings,
  };
  if (probeResult !== undefined)
    return { kind: "ok", provider: createS3(store, toCapabilities(findings), false), probeResult };
  const checked = await checkBucket(store, signal);
  if (checked.kind !== "ok") return toSettingFailure(checked);
  const found = toFindings(checked.probeResult, address.region);
  const provider = createS3({ ...store, findings: found }, toCapabilities(found), true);
  return { kind: "ok", provider, probeResult: checked.probeResult };
}

function toAddress(
  settings: ConnectRequest["settings"],
  credentials: ConnectRequest["credentials"],
): BucketAddress | ConnectFailure {
  const { endpoint = "", region = "us-east-1", bucket = "", path_style: style = "true" } = settings;
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined) return invalid("endpoint", "not_an_address");
  if (!/^https?:$/.test(url.protocol)) return invalid("endpoint", "not_http");
  if (url.username !== "" || url.password !== "") return invalid("endpoint", "has_credentials");
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "")
    return invalid("endpoint", "has_a_path");
  if (!/^[a-zA-Z0-9-]{1,40}$/.test(region)) return invalid("region", "not_a_region");
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/.test(bucket)) return invalid("bucket", "not_a_name");
  if (style !== "true" && style !== "false") return invalid("path_style", "not_a_switch");
  const {
    access_key_id: id = "",
    secret_access_key: secret = "",
    session_token: token,
  } = credentials;
  // Credentials become headers, and non-printable characters were pasted by mistake.
  for (const [name, value] of Object.entries({ access_key_id: id, secret_access_key: secret }))
    if (!/^[\x21-\x7e]+$/.test(value)) return invalid(name, "not_a_key");
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
    return invalid("session_token", "not_a_token");
  return {
    endpoint: url.origin,
    region,
    bucket,
    isPathStyle: style === "true",
    keys: { accessKeyId: id, secretAccessKey: secret, sessionToken: token },
  };
}

/** Returns the key prefix of the root. */
function toRoot(prefix: string): string | ConnectFailure {
  const trimmed = prefix.replace(/^\/+|\/+$/g, "");
  if (trimmed === "") return "";
  const segments = trimmed.split("/");
  const isOdd = segments.some((segment) => ["", ".", ".."].includes(segment));
  return isOdd ||
    Buffer.byteLength(trimmed) > 700 ||
    !trimmed.isWellFormed() ||
    /\p{Cc}/u.test(trimmed)
    ? invalid("prefix", "not_a_path")
    : `${trimmed}/`;
}

/** Maps a failed probe to the setting that is wrong, if known. */
function toSettingFailure(failure: ConnectFailure): ConnectFailure {
  if (failure.kind !== "offline") return failure;
  switch (failure.note) {
    case ADDRESS_REFUSED:
      return invalid("endpoint", ADDRESS_REFUSED);
    case "bucket_missing":
      return invalid("bucket", "bucket_missing");
    case "AuthorizationHeaderMalformed":
      return invalid("region", "wrong_region");
    default:
      return failure;
  }
}

function invalid(setting: string, reason: string): ConnectFailure {
  return { kind: "invalid_setting", setting, reason };
}
