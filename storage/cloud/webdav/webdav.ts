import type { Failure } from "../outcomes.ts";
import type {
  CheckOutcome,
  CloudProvider,
  ConnectOutcome,
  ProbeResult,
  ProviderCapabilities,
  ProviderDeps,
  QuotaOutcome,
} from "../provider.ts";
import { swapFile } from "../replacing.ts";
import { withFinishedRenames } from "../temporary-names.ts";
import { ADDRESS_REFUSED, createTransport } from "../transport.ts";
import { toBase, toPlaceOf, type DavBase } from "./address.ts";
import { createFolder, deleteItem, move, rename, type Permits } from "./changing.ts";
import { createDavClient, type DavClient } from "./client.ts";
import { createDavCore, type DavCore } from "./core.ts";
import { toFailure } from "./failures.ts";
import { quotaProps } from "./items.ts";
import { listFolder } from "./listing.ts";
import { PROBE_VERSION, lookAtRoot, probe, readQuota, toCapabilities } from "./probe.ts";
import { readFile } from "./reading.ts";
import { replaceFile } from "./replacing.ts";
import { uploadFile } from "./uploading.ts";

/** Options of a server connection. */
export interface WebDavRequest {
  readonly url: string;
  readonly root: string;
  readonly username: string;
  readonly password: string;
  readonly probeResult: ProbeResult | undefined;
  readonly capabilities: ProviderCapabilities;
  readonly signal: AbortSignal;
}

/** Opens a folder of a WebDAV server as a storage. */
export async function openWebDav(
  request: WebDavRequest,
  deps: ProviderDeps,
): Promise<ConnectOutcome> {
  const parsed = toBase(request.url, request.root);
  if (parsed.kind !== "ok") return parsed;
  // Basic authentication ends the user name at the first colon.
  if (request.username.includes(":"))
    return { kind: "invalid_setting", setting: "username", reason: "has_colon" };
  const clientOf = (probeResult: ProbeResult) =>
    createClient(parsed.base, request, probeResult, deps);
  const check = (signal: AbortSignal) =>
    detect(clientOf, deps, request.root === "" ? "url" : "root", signal);
  const { probeResult } = request;
  const found =
    probeResult?.["version"] === PROBE_VERSION
      ? ({ kind: "ok", probeResult } as const)
      : await check(request.signal);
  if (found.kind !== "ok") return found;
  const core = createDavCore({
    client: clientOf(found.probeResult),
    probeResult: found.probeResult,
    deps,
  });
  const provider = withFinishedRenames(
    createWebDav(core, toCapabilities(request.capabilities, found.probeResult), check),
    deps,
  );
  return { kind: "ok", provider, probeResult: found.probeResult };
}

function createClient(
  base: DavBase,
  request: WebDavRequest,
  probeResult: ProbeResult,
  deps: ProviderDeps,
): DavClient {
  return createDavClient({
    base,
    username: request.username,
    password: request.password,
    signing: probeResult["signing"] === "digest" ? "digest" : "basic",
    newId: deps.newId,
    transport: createTransport(deps.guarded),
    clock: deps.clock,
    usesPathDestination: probeResult["path_destination"] === true,
  });
}

async function detect(
  clientOf: (probeResult: ProbeResult) => DavClient,
  deps: ProviderDeps,
  setting: "url" | "root",
  signal: AbortSignal,
): Promise<CheckOutcome> {
  const detected = await clientOf({}).findSigning(signal);
  if (detected.kind !== "ok")
    return detected.note === ADDRESS_REFUSED
      ? { kind: "invalid_setting", setting: "url", reason: ADDRESS_REFUSED }
      : detected;
  const { signing } = detected;
  const client = clientOf({ signing });
  const root = await lookAtRoot(client, deps, signal, setting);
  if (root.kind !== "ok") return root;
  const probed = await probe(client, deps, signal);
  return probed.kind === "ok"
    ? { kind: "ok", probeResult: { ...root.probeResult, ...probed.probeResult, signing } }
    : probed;
}

function createWebDav(
  core: DavCore,
  capabilities: ProviderCapabilities,
  check: (signal: AbortSignal) => Promise<CheckOutcome>,
): CloudProvider {
  const permits: Permits = () => undefined;
  const provider: CloudProvider = {
    ...createDavVerbs(core, permits),
    capabilities,
    upload: (input) => uploadFile(core, input),
    delete: (input) =>
      deleteItem(core, input, permits, async () => ({ kind: "ok", how: "permanent" })),
    check: ({ signal }) => check(signal),
    close: async () => undefined,
  };
  if (core.probeResult["if_match_on_put"] !== true) return provider;
  return {
    ...provider,
    replace: (input) =>
      replaceFile(core, input, permits, (replacement) =>
        swapFile(provider, replacement, core.deps),
      ),
  };
}

/** The operations that are the same for every WebDAV server. */
export function createDavVerbs(
  core: DavCore,
  permits: Permits,
): Pick<CloudProvider, "list" | "stat" | "read" | "createFolder" | "rename" | "move" | "quota"> {
  return {
    list: ({ folder, signal }) => listFolder(core, folder, signal),

    async stat({ id, signal }) {
      const place = toPlaceOf(id);
      if (place === undefined) return { kind: "not_found", note: "impossible_id" };
      const found = await core.lookUp(place.segments, signal);
      return found.kind === "ok" ? { kind: "ok", item: found.davItem.item } : found;
    },

    read: (input) => readFile(core, input),
    createFolder: (input) => createFolder(core, input),
    rename: (input) => rename(core, input, permits),
    move: (input) => move(core, input, permits),
    quota: ({ signal }) => findQuota(core, signal),
  };
}

async function findQuota(core: DavCore, signal: AbortSignal): Promise<QuotaOutcome> {
  let room: ReturnType<typeof readQuota>;
  const outcome = await core.client.propfind(
    { place: { segments: [], isFolder: true }, depth: "0", props: quotaProps, signal },
    (response) => {
      room ??= readQuota(response);
    },
  );
  if (outcome.kind === "refused") {
    const failure: Failure = toFailure(outcome.answer, core.deps.clock());
    return failure.kind === "stale" ? { kind: "offline", sent: true, note: "root_gone" } : failure;
  }
  if (outcome.kind !== "ok") return outcome;
  return { kind: "ok", usedBytes: room?.usedBytes, totalBytes: room?.totalBytes };
}
