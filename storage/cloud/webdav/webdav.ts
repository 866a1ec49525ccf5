import type { Failure } from "../outcomes.ts";
import type {
  CheckOutcome,
  CloudProvider,
  ConnectOutcome,
  Facts,
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
import { FACTS_VERSION, lookAtRoot, probe, readQuota, toCapabilities } from "./probe.ts";
import { readFile } from "./reading.ts";
import { replaceFile } from "./replacing.ts";
import { uploadFile } from "./uploading.ts";

/** Options of a server connection. */
export interface WebDavRequest {
  readonly url: string;
  readonly root: string;
  readonly username: string;
  readonly password: string;
  readonly facts: Facts | undefined;
  readonly capabilities: ProviderCapabilities;
  readonly signal: AbortSignal;
}

/** Opens a folder of a WebDAV server as a storage. */
export async function openWebDav(
  request: WebDavRequest,
  deps: ProviderDeps,
): Promise<ConnectOutcome> {
  const placed = toBase(request.url, request.root);
  if (placed.kind !== "ok") return placed;
  // Basic authentication ends the user name at the first colon.
  if (request.username.includes(":"))
    return { kind: "invalid_setting", setting: "username", reason: "has_colon" };
  const clientOf = (facts: Facts) => createClient(placed.base, request, facts, deps);
  const check = (signal: AbortSignal) =>
    findFacts(clientOf, deps, request.root === "" ? "url" : "root", signal);
  const { facts } = request;
  const found =
    facts?.["version"] === FACTS_VERSION
      ? ({ kind: "ok", facts } as const)
      : await check(request.signal);
  if (found.kind !== "ok") return found;
  const core = createDavCore({ client: clientOf(found.facts), facts: found.facts, deps });
  const provider = withFinishedRenames(
    createWebDav(core, toCapabilities(request.capabilities, found.facts), check),
    deps,
  );
  return { kind: "ok", provider, facts: found.facts };
}

function createClient(
  base: DavBase,
  request: WebDavRequest,
  facts: Facts,
  deps: ProviderDeps,
): DavClient {
  return createDavClient({
    base,
    username: request.username,
    password: request.password,
    signing: facts["signing"] === "digest" ? "digest" : "basic",
    newId: deps.newId,
    transport: createTransport(deps.guarded),
    clock: deps.clock,
    usesPathDestination: facts["path_destination"] === true,
  });
}

async function findFacts(
  clientOf: (facts: Facts) => DavClient,
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
    ? { kind: "ok", facts: { ...root.facts, ...probed.facts, signing } }
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
  if (core.facts["if_match_on_put"] !== true) return provider;
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
      const found = await core.look(place.segments, signal);
      return found.kind === "ok" ? { kind: "ok", item: found.seen.item } : found;
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
