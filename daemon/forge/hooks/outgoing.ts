import { createHash, createHmac } from "node:crypto";
import { z } from "zod";
import type { ForgeHook } from "../../../storage/tables/forge/hooks/hooks.ts";
import { toChatBody } from "./chat-formats.ts";
import { toChatMessage } from "./chat-message.ts";
import type { HookTarget } from "./targets.ts";

/** The HTTP request of a delivery. `signed` is the text that is signed. */
export interface Outgoing {
  readonly url: string;
  readonly method: "POST" | "PUT";
  readonly contentType: string;
  readonly body: string;
  readonly signed: string;
}

const JSON_TYPE = "application/json";

/** Returns the request in the form of the hook's kind; undefined if the kind does not receive the event. */
export function toOutgoing(
  hook: ForgeHook,
  { url, secret }: HookTarget,
  { event, payload }: { readonly event: string; readonly payload: string },
  now: number,
): Outgoing | undefined {
  if (hook.kind === "gitea" || hook.kind === "gogs") return toPlain(hook.contentType, url, payload);
  const value: unknown = JSON.parse(payload);
  if (hook.kind === "packagist") return toPackagist(url, event, value);
  const message = toChatMessage(event, value);
  if (message === undefined) return undefined;
  const made = toChatBody(hook.kind, message, hook.slack);
  const signedBody =
    hook.kind === "feishu" && secret !== "" ? { ...toFeishuSignature(secret, now), ...made } : made;
  const body = JSON.stringify(signedBody, undefined, 2);
  if (hook.kind !== "matrix")
    return { url, method: "POST", contentType: JSON_TYPE, body, signed: body };
  // A Matrix room accepts an event once per transaction id, so a retry is idempotent.
  const transaction = createHash("sha1").update(payload).digest("hex");
  const address = `${url.replace(/\/+$/, "")}/${transaction}`;
  return { url: address, method: "PUT", contentType: JSON_TYPE, body, signed: body };
}

function toPlain(contentType: "json" | "form", url: string, payload: string): Outgoing {
  const rest = { url, method: "POST", signed: payload } as const;
  if (contentType === "json") return { ...rest, contentType: JSON_TYPE, body: payload };
  const body = new URLSearchParams({ payload }).toString();
  return { ...rest, contentType: "application/x-www-form-urlencoded", body };
}

const packagistSchema = z.object({ repository: z.object({ html_url: z.string() }) });

/** Packagist receives only the address of the repository, and only after pushes. */
function toPackagist(url: string, event: string, payload: unknown): Outgoing | undefined {
  if (event !== "push") return undefined;
  const { repository } = packagistSchema.parse(payload);
  const body = JSON.stringify({ repository: { url: repository.html_url } }, undefined, 2);
  return { url, method: "POST", contentType: JSON_TYPE, body, signed: body };
}

/** Feishu's own signature: an HMAC of nothing, whose key is the time in seconds and the secret. */
function toFeishuSignature(secret: string, now: number) {
  const timestamp = String(Math.floor(now / 1000));
  const sign = createHmac("sha256", `${timestamp}\n${secret}`).update("").digest("base64");
  return { timestamp, sign };
}
