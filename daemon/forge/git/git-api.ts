import type { Api, RenderedError } from "../../http/handle.ts";
import { statusOfCode } from "../../http/replies.ts";
import type { ForgeCaller } from "../caller.ts";
import { isPlainAnswer } from "../refusals.ts";

/**
 * The API of the forge for git clients: the same accounts, tokens and sign-in limits, but errors in plain text, which
 * git shows to its user, and with the header that makes git ask for credentials.
 */
export function createGitApi(forge: Api<ForgeCaller>): Api<ForgeCaller> {
  return {
    ...forge,
    headers: { "X-Content-Type-Options": "nosniff", "X-Frame-Options": "SAMEORIGIN" },
    renderError(error) {
      if (isPlainAnswer(error.body)) return plain(error.body.status, error.body.text ?? "");
      return plain(statusOfCode[error.code], `${error.message}\n`);
    },
    internalError: () => plain(500, "internal error\n"),
  };
}

/** Returns whether a path is one of the smart protocol. */
export function isGitPath(path: string): boolean {
  return /^\/[^/]+\/[^/]+\/(?:info\/refs|git-upload-pack|git-receive-pack)$/.test(path);
}

function plain(status: number, text: string): RenderedError {
  const headers = { "Content-Type": "text/plain; charset=utf-8" };
  return {
    status,
    headers: status === 401 ? { ...headers, "WWW-Authenticate": 'Basic realm="croft"' } : headers,
    body: text,
  };
}
