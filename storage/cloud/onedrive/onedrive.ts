import { openSignedIn } from "../oauth-sender.ts";
import type { Tokens } from "../oauth-tokens.ts";
import { toEndpoint, type OAuthVendor } from "../oauth.ts";
import { asCount, asObject, asText } from "../json.ts";
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
import { createChanges, toChangeFailure } from "./changes.ts";
import { createDrive } from "./drive.ts";
import { createGraph, type Graph } from "./graph.ts";
import { toDriveId, toItemId } from "./items.ts";
import { readFile } from "./read.ts";
import { replace } from "./replace.ts";
import { cancel, type UploadSizes } from "./session.ts";
import { upload } from "./upload.ts";

/** 16 times 320 KiB: large enough to be fast, small enough to be in memory for each running upload. */
export const usualSizes: UploadSizes = {
  simpleBytesMax: 4 * 1024 * 1024,
  fragmentBytes: 16 * 320 * 1024,
};

/** Opens the drive of the signed-in user. */
export async function openOneDrive(
  request: ConnectRequest,
  deps: ProviderDeps,
  by: {
    readonly vendor: OAuthVendor;
    readonly capabilities: ProviderCapabilities;
    readonly sizes: UploadSizes;
  },
): Promise<ConnectOutcome> {
  const root = toEndpoint("https://graph.microsoft.com/v1.0", deps.server["onedriveBaseUrl"]);
  const { tokens, sender } = openSignedIn(by.vendor, request, deps, [root]);
  const around = { ...by, tokens };
  const graph = createGraph({ sender, root, clock: deps.clock });
  const savedResult = request.probeResult;
  if (savedResult !== undefined && isComplete(savedResult))
    return {
      kind: "ok",
      provider: createOneDrive(graph, savedResult, deps, around),
      probeResult: savedResult,
    };
  const probed = await probeAccount(graph, request.signal);
  if (probed.kind !== "ok") return probed;
  return {
    kind: "ok",
    provider: createOneDrive(graph, probed.probeResult, deps, around),
    probeResult: probed.probeResult,
  };
}

function createOneDrive(
  graph: Graph,
  probeResult: ProbeResult,
  deps: ProviderDeps,
  by: {
    readonly tokens: Tokens;
    readonly capabilities: ProviderCapabilities;
    readonly sizes: UploadSizes;
  },
): CloudProvider {
  const [driveId, rootId] = [String(probeResult["drive_id"]), String(probeResult["root_id"])];
  const capabilities: ProviderCapabilities = {
    ...by.capabilities,
    permanentDelete: by.capabilities.permanentDelete && probeResult["drive_type"] !== "personal",
    quota: probeResult["tells_quota"] === true,
  };
  const drive = createDrive(graph, driveId, rootId);
  const changes = createChanges(
    graph,
    drive,
    { driveId, rootId, canDeleteForGood: capabilities.permanentDelete },
    deps,
  );
  const uploadDeps = { graph, drive, sizes: by.sizes, sleep: deps.sleep };
  const provider: CloudProvider = {
    capabilities,
    list: ({ folder, signal }) => drive.list(folder, signal),
    async stat({ id, signal }) {
      const current = await drive.lookUp(id, signal);
      return current.kind === "ok" ? { kind: "ok", item: current.found.item } : current;
    },
    read: (input) => readFile(graph, drive, input),
    createFolder: ({ parent, name, signal }) => changes.createFolder(parent, name, signal),
    upload: (input) => upload(input, uploadDeps),
    async discardSession({ session }) {
      const url = graph.toSigned(session);
      if (url !== undefined) await cancel(url, uploadDeps);
    },
    replace: (input) => replace(input, uploadDeps),
    rename: ({ id, name, expected, signal }) => changes.rename(id, name, expected, signal),
    move: ({ id, parent, expected, signal }) => changes.move(id, parent, expected, signal),
    delete: ({ id, expected, permanently = false, signal }) =>
      changes.remove(id, expected, permanently, signal),

    async quota({ signal }): Promise<QuotaOutcome> {
      const answer = await graph.call({
        method: "GET",
        path: `/drives/${encodeURIComponent(driveId)}?$select=quota`,
        signal,
      });
      return answer.kind === "ok"
        ? { kind: "ok", ...toQuota(answer.value["quota"]) }
        : toChangeFailure(answer);
    },

    async check({ signal }): Promise<CheckOutcome> {
      const probed = await probeAccount(graph, signal);
      if (probed.kind !== "ok" || probed.probeResult["drive_id"] === driveId) return probed;
      // Another user has signed in: the items of this connection are not theirs.
      return { kind: "reauth", note: "other_drive" };
    },

    close: () => by.tokens.idle(),
  };
  return withFinishedRenames(provider, deps);
}

/** Finds the user's drive and its capabilities. */
async function probeAccount(graph: Graph, signal: AbortSignal): Promise<CheckOutcome> {
  const drive = await graph.call({
    method: "GET",
    path: "/me/drive?$select=id,driveType,quota,owner",
    signal,
  });
  if (drive.kind === "not_found") return { kind: "forbidden", note: "no_drive" };
  if (drive.kind !== "ok") return drive;
  const driveId = toDriveId(drive.value["id"]);
  const root = await graph.call({ method: "GET", path: "/me/drive/root?$select=id", signal });
  if (root.kind === "not_found") return { kind: "forbidden", note: "no_root" };
  if (root.kind !== "ok") return root;
  const rootId = toItemId(root.value["id"]);
  if (driveId === undefined || rootId === undefined)
    return { kind: "offline", sent: true, note: "strange_drive" };
  const owner = asObject(asObject(drive.value["owner"])?.["user"]);
  const name = asText(owner?.["email"]) ?? asText(owner?.["displayName"]);
  const probeResult: ProbeResult = {
    [PROBED_ACCOUNT]: driveId,
    ...(name === undefined ? {} : { [PROBED_ACCOUNT_NAME]: name }),
    drive_id: driveId,
    root_id: rootId,
    drive_type: asText(drive.value["driveType"]) ?? "unknown",
    tells_quota: toQuota(drive.value["quota"]).totalBytes !== undefined,
  };
  return { kind: "ok", probeResult };
}

function isComplete(probeResult: ProbeResult): boolean {
  return typeof probeResult["drive_id"] === "string" && typeof probeResult["root_id"] === "string";
}

/** Some sites report zero for every number, which means unknown. */
function toQuota(
  value: unknown,
): Pick<Extract<QuotaOutcome, { kind: "ok" }>, "usedBytes" | "totalBytes"> {
  const quota = asObject(value);
  const total = asCount(quota?.["total"]) ?? 0;
  return total === 0
    ? { usedBytes: undefined, totalBytes: undefined }
    : { usedBytes: asCount(quota?.["used"]), totalBytes: total };
}
