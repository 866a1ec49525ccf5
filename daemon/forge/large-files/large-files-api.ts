import { LARGE_FILES_TYPE } from "../../contract/forge/repositories/large-files.ts";
import { AppError } from "../../errors.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import type { Api, RenderedError, ServerRequest } from "../../http/handle.ts";
import type { ForgeCaller } from "../caller.ts";
import { TOKEN_ADVICE } from "../http/tool-apis.ts";
import { findTransferToken, type TransferCaller, type TransferTokens } from "./transfer-tokens.ts";

/** What the token of a batch is for. */
const FILE_TRANSFERS: Readonly<Record<"upload" | "download", readonly string[]>> = {
  upload: ["forge.large_files.upload", "forge.large_files.verify"],
  download: ["forge.large_files.download"],
};

/**
 * Creates the API of the forge for Git LFS. Accounts, tokens and sign-in limits are those of the forge; a client over SSH, and
 * the transfers of a batch, have tokens of their own. Errors are JSON of Git LFS, whose client prints the message word for word.
 */
export function createLargeFilesApi(
  forge: Api<ForgeCaller>,
  tokens: TransferTokens,
): Api<TransferCaller> {
  return {
    ...forge,
    jsonContentType: LARGE_FILES_TYPE,
    async authenticate(request, gate, readBody) {
      const token = findTransferToken(request.headers.authorization);
      if (token === undefined) return forge.authenticate(request, gate, readBody);
      const [, owner = "", repo = ""] = request.target.replace(/^\/+/, "/").split("/");
      const path = { owner: decode(owner), repo: decode(repo).replace(/\.git$/i, "") };
      const caller = await tokens.find(token, path, async (secret) =>
        forge.authenticate(withSecret(request, secret), gate, readBody),
      );
      if (caller === undefined)
        throw new AppError("invalid_credentials", "the token of this transfer has expired");
      return caller;
    },
    authorize(caller, declared, request, params) {
      assertInReach(caller, declared);
      const isTransfer = declared.path.includes("/objects/:oid");
      if (!isTransfer && !request.headers.accept?.toLowerCase().includes(LARGE_FILES_TYPE))
        throw new AppError("unsupported_type", `the client must accept ${LARGE_FILES_TYPE}`);
      return forge.authorize(caller, declared, request, params);
    },
    async decodeBody(declared, request, readBody) {
      try {
        return await forge.decodeBody(declared, request, readBody);
      } catch (error) {
        if (error instanceof AppError && error.code === "unprocessable")
          throw new AppError("invalid_argument", error.message, { cause: error });
        throw error;
      }
    },
    toValidationError: (where, error, declared) =>
      new AppError("invalid_argument", forge.toValidationError(where, error, declared).message),
    renderError(error, request) {
      const rendered = forge.renderError(error, request);
      if (rendered.status === 307) return rendered;
      const advice = error.code === "invalid_credentials" ? ` ${TOKEN_ADVICE.trim()}` : "";
      return toRefusal(rendered, `${error.message}${advice}`);
    },
    notFound: (request) => toRefusal(forge.notFound(request), "Not found."),
    internalError: () => toRefusal(forge.internalError(), "internal error"),
  };
}

/** Refuses other operations than those that the token of a batch is for. */
function assertInReach(caller: TransferCaller | undefined, { name }: Endpoint): void {
  const { operation, reach } = caller?.transfer ?? {};
  if (operation !== undefined && reach === "files" && !FILE_TRANSFERS[operation].includes(name))
    throw new AppError("forbidden", `the token is for the ${operation} of files alone`);
}

/** Returns a request with an access token as its only credentials. */
function withSecret(request: ServerRequest, secret: string): ServerRequest {
  const { id, address, signal } = request;
  const headers = { authorization: `token ${secret}` };
  return { ...request, id, address, signal, query: new URLSearchParams(), headers };
}

function toRefusal({ status, headers }: RenderedError, message: string): RenderedError {
  const basic = 'Basic realm="croft"';
  const challenge = status === 401 ? { "WWW-Authenticate": basic, "LFS-Authenticate": basic } : {};
  const type = { "Content-Type": LARGE_FILES_TYPE };
  return {
    status,
    headers: { ...headers, ...type, ...challenge },
    body: JSON.stringify({ message }),
  };
}

/** Decodes a segment of a path; one that cannot be decoded names nothing. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return "";
  }
}
