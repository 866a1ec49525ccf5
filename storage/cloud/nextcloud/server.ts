import type { ConnectFailure } from "../outcomes.ts";
import { asObject, asText, type JsonObject } from "../json.ts";
import { readJsonObject } from "../response-json.ts";
import { ADDRESS_REFUSED } from "../transport.ts";
import { toBase, type DavBase } from "../webdav/address.ts";
import type { DavClient } from "../webdav/client.ts";
import { toNameRules, type NameRules } from "./names.ts";

/** The server's capabilities and the signed-in user, as the probe result of the connection. */
export interface ServerDetails extends NameRules {
  readonly product: "nextcloud" | "owncloud";
  readonly server_version: string;
  /** The user id, which may differ from the login name. */
  readonly user: string;
  readonly trash: boolean;
  readonly chunks: boolean;
}

/** Returns the server's base URL: people also paste URLs of pages and of WebDAV folders. */
export function toServerBase(
  url: string,
): { readonly kind: "ok"; readonly base: DavBase } | ConnectFailure {
  const parsed = toBase(url, "");
  if (parsed.kind !== "ok") return parsed;
  const { origin, segments } = parsed.base;
  const end = segments.findIndex((segment) => /^(remote|index|status|ocs)(\.php)?$/.test(segment));
  return {
    kind: "ok",
    base: { origin, segments: end === -1 ? segments : segments.slice(0, end) },
  };
}

/** Returns the base URL of one of a user's folders in the DAV interface. */
export function toDavBase(server: DavBase, ...segments: readonly string[]): DavBase {
  return {
    origin: server.origin,
    segments: [...server.segments, "remote.php", "dav", ...segments],
  };
}

/** Requests the server's capabilities and the signed-in user. */
export async function discover(
  client: DavClient,
  signal: AbortSignal,
): Promise<{ readonly kind: "ok"; readonly details: ServerDetails } | ConnectFailure> {
  const notThere = { kind: "invalid_setting", setting: "url", reason: "not_nextcloud" } as const;

  async function ask(segments: readonly string[]) {
    const answer = await client.send({
      method: "GET",
      place: { segments, isFolder: false },
      headers: { "ocs-apirequest": "true", accept: "application/json" },
      signal,
    });
    if (answer.kind !== "answered")
      return answer.note === ADDRESS_REFUSED
        ? ({ kind: "invalid_setting", setting: "url", reason: ADDRESS_REFUSED } as const)
        : answer;
    if (answer.status >= 300 && answer.status < 400) {
      answer.discard();
      return { kind: "invalid_setting", setting: "url", reason: "redirected_elsewhere" } as const;
    }
    if (answer.status === 404) {
      answer.discard();
      return notThere;
    }
    if (answer.status !== 200) return client.refuse(answer);
    const read = await readJsonObject(answer);
    return read.kind === "ok" || read.note !== "no_json" ? read : notThere;
  }

  async function askOcs(...segments: readonly string[]) {
    const reply = await ask(["ocs", "v2.php", "cloud", ...segments]);
    if (reply.kind !== "ok") return reply;
    const data = asObject(asObject(reply.value["ocs"])?.["data"]);
    return data === undefined ? notThere : ({ kind: "ok", value: data } as const);
  }

  const status = await ask(["status.php"]);
  if (status.kind !== "ok") return status;
  if (typeof status.value["installed"] !== "boolean") return notThere;
  if (status.value["maintenance"] === true || status.value["needsDbUpgrade"] === true)
    return { kind: "offline", sent: true, note: "maintenance" };
  const user = await askOcs("user");
  if (user.kind !== "ok") return user;
  const id = asText(user.value["id"]);
  if (id === undefined) return notThere;
  const response = await askOcs("capabilities");
  if (response.kind !== "ok") return response;
  return { kind: "ok", details: toDetails(status.value, id, response.value) };
}

function toDetails(status: JsonObject, user: string, document: JsonObject): ServerDetails {
  const capabilities = asObject(document["capabilities"]);
  const files = asObject(capabilities?.["files"]);
  const dav = asObject(capabilities?.["dav"]);
  // Themes rename Nextcloud; ownCloud keeps its name.
  const isOwnCloud = /owncloud/i.test(asText(status["productname"]) ?? "");
  return {
    product: isOwnCloud ? "owncloud" : "nextcloud",
    server_version: asText(status["versionstring"]) ?? asText(status["version"]) ?? "",
    user,
    trash: files?.["undelete"] === true,
    chunks: asText(dav?.["chunking"]) !== undefined,
    ...toNameRules(files),
  };
}
