import { asCount, asObject, asText, type JsonObject } from "../json.ts";
import { openSignedIn } from "../oauth-sender.ts";
import type { Tokens } from "../oauth-tokens.ts";
import { toEndpoint, type OAuthVendor } from "../oauth.ts";
import {
  PROBED_ACCOUNT,
  PROBED_ACCOUNT_NAME,
  type CheckOutcome,
  type CloudProvider,
  type ConnectOutcome,
  type ConnectRequest,
  type ProbeResult,
  type ProviderCapabilities,
  type ProviderDeps,
  type QuotaOutcome,
} from "../provider.ts";
import { withFinishedRenames } from "../temporary-names.ts";
import { createAccount, toChangeFailure, toLookFailure } from "./account.ts";
import { createDropboxApi, type DropboxApi } from "./api.ts";
import { createChanges } from "./changes.ts";
import { readFile } from "./read.ts";
import { createTrash } from "./trash.ts";
import { replace, upload } from "./upload.ts";

/** Two blocks of the content hash: large enough to be fast, small enough to be in memory for each running upload. */
export const USUAL_PIECE_BYTES = 8 * 1024 * 1024;

/** Opens the files of the signed-in user. */
export async function openDropbox(
  request: ConnectRequest,
  deps: ProviderDeps,
  by: {
    readonly vendor: OAuthVendor;
    readonly capabilities: ProviderCapabilities;
    readonly pieceBytes: number;
  },
): Promise<ConnectOutcome> {
  const base = deps.server["dropboxBaseUrl"];
  const services = {
    api: toEndpoint("https://api.dropboxapi.com/2", base),
    content: toEndpoint("https://content.dropboxapi.com/2", base),
  };
  const { tokens, sender } = openSignedIn(by.vendor, request, deps, Object.values(services));
  const around = { ...by, tokens };
  const api = createDropboxApi({ sender, ...services, clock: deps.clock });
  const { probeResult } = request;
  if (probeResult !== undefined && typeof probeResult[PROBED_ACCOUNT] === "string")
    return {
      kind: "ok",
      provider: createDropbox(api, probeResult, deps, around),
      probeResult,
    };
  const probed = await probeAccount(api, request.signal);
  if (probed.kind !== "ok") return probed;
  return {
    kind: "ok",
    provider: createDropbox(api, probed.probeResult, deps, around),
    probeResult: probed.probeResult,
  };
}

function createDropbox(
  api: DropboxApi,
  probeResult: ProbeResult,
  deps: ProviderDeps,
  by: {
    readonly tokens: Tokens;
    readonly capabilities: ProviderCapabilities;
    readonly pieceBytes: number;
  },
): CloudProvider {
  const account = createAccount(api);
  const changes = createChanges({ api, account, deps });
  // Concurrent changes of one account fail with too_many_write_operations.
  const withAccountLock = <T>(work: () => Promise<T>): Promise<T> =>
    deps.locks.withLocks([`dropbox ${String(probeResult[PROBED_ACCOUNT])}`], work);
  const uploadDeps = {
    api,
    account,
    pieceBytes: by.pieceBytes,
    withAccountLock,
    sleep: deps.sleep,
  };
  const provider: CloudProvider = {
    capabilities: by.capabilities,
    list: ({ folder, signal }) => account.list(folder, signal),
    async stat({ id, signal }) {
      const current = await account.lookWithParent(id, signal);
      return current.kind === "ok" ? { kind: "ok", item: current.item } : toLookFailure(current);
    },
    read: (input) => readFile(api, account, input),
    createFolder: ({ parent, name, signal }) =>
      withAccountLock(() => changes.createFolder(parent, name, signal)),
    upload: (input) => upload(input, uploadDeps),
    replace: (input) => replace(input, uploadDeps),
    rename: ({ id, name, expected, signal }) =>
      withAccountLock(() => changes.rename(id, name, expected, signal)),
    move: ({ id, parent, expected, signal }) =>
      withAccountLock(() => changes.move(id, parent, expected, signal)),
    async delete({ id, expected, permanently = false, signal }) {
      if (permanently) return { kind: "unsupported", reason: "permanent_delete" };
      return withAccountLock(() => changes.remove(id, expected, signal));
    },
    trash: createTrash({ api, account, withAccountLock }),

    async quota({ signal }): Promise<QuotaOutcome> {
      const answer = await api.ask("users/get_space_usage", null, signal);
      return answer.kind === "ok" ? toQuota(answer.value) : toChangeFailure(answer);
    },

    async check({ signal }): Promise<CheckOutcome> {
      const probed = await probeAccount(api, signal);
      const isSame =
        probed.kind !== "ok" || probed.probeResult[PROBED_ACCOUNT] === probeResult[PROBED_ACCOUNT];
      // Another user has signed in: the items of this connection are not theirs.
      return isSame ? probed : { kind: "reauth", note: "other_account" };
    },

    close: () => by.tokens.idle(),
  };
  return withFinishedRenames(provider, deps);
}

/** Returns the account of these files. */
async function probeAccount(api: DropboxApi, signal: AbortSignal): Promise<CheckOutcome> {
  const answer = await api.ask("users/get_current_account", null, signal);
  if (answer.kind !== "ok") return toChangeFailure(answer);
  const id = asText(answer.value["account_id"]);
  if (id === undefined) return { kind: "offline", sent: true, note: "strange_account" };
  const name = asText(answer.value["email"]);
  const accountName = name === undefined ? {} : { [PROBED_ACCOUNT_NAME]: name };
  return { kind: "ok", probeResult: { [PROBED_ACCOUNT]: id, ...accountName } };
}

/** A team's members share its space, unless they have been assigned their own. */
function toQuota(value: JsonObject): QuotaOutcome {
  const allocation = asObject(value["allocation"]);
  const own = asCount(allocation?.["user_within_team_space_allocated"]) ?? 0;
  const isShared = allocation?.[".tag"] === "team" && own === 0;
  const total = own === 0 ? (asCount(allocation?.["allocated"]) ?? 0) : own;
  return {
    kind: "ok",
    usedBytes: asCount(isShared ? allocation["used"] : value["used"]),
    totalBytes: total === 0 ? undefined : total,
  };
}
