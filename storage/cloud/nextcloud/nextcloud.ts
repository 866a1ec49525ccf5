import type { Failure } from "../outcomes.ts";
import type {
  CheckOutcome,
  CloudProvider,
  ConnectOutcome,
  ProviderCapabilities,
  ProviderDeps,
} from "../provider.ts";
import { swapFile } from "../replacing.ts";
import { withFinishedRenames } from "../temporary-names.ts";
import { createTransport } from "../transport.ts";
import type { DavBase } from "../webdav/address.ts";
import { deleteItem, type Permits } from "../webdav/changing.ts";
import { createDavClient } from "../webdav/client.ts";
import { createDavCore } from "../webdav/core.ts";
import { PROBE_VERSION, lookAtRoot, toCapabilities } from "../webdav/probe.ts";
import { replaceFile } from "../webdav/replacing.ts";
import { createDavVerbs, type WebDavRequest } from "../webdav/webdav.ts";
import { refuseName } from "./names.ts";
import { discover, toDavBase, toServerBase, type ServerDetails } from "./server.ts";
import { createTrash } from "./trash-items.ts";
import { createCloudTrash } from "./trash.ts";
import { toSavedChunks } from "./saved-chunks.ts";
import { createUnfinishedUploads } from "./unfinished-uploads.ts";
import { replaceInPieces, uploadToCloud } from "./uploading.ts";

/** Options of a server connection. */
export interface NextcloudRequest extends WebDavRequest {
  /** Files larger than this are uploaded in chunks of this many bytes. */
  readonly pieceBytes: number;
}

/** The letter of each permission. */
const LETTERS = { rename: "N", move: "V", delete: "D", replace: "W" } as const;

/** Opens a user's files on a Nextcloud or ownCloud server. */
export async function openNextcloud(
  request: NextcloudRequest,
  deps: ProviderDeps,
): Promise<ConnectOutcome> {
  const parsed = toServerBase(request.url);
  if (parsed.kind !== "ok") return parsed;
  if (request.username.includes(":"))
    return { kind: "invalid_setting", setting: "username", reason: "has_colon" };
  const server = parsed.base;
  const below = request.root.split("/").filter((segment) => segment !== "");
  if (below.some((segment) => segment === "." || segment === ".." || !segment.isWellFormed()))
    return { kind: "invalid_setting", setting: "root", reason: "not_a_path" };
  const transport = createTransport(deps.guarded);
  const clientOf = (base: DavBase) =>
    createDavClient({
      base,
      username: request.username,
      password: request.password,
      signing: "basic",
      newId: deps.newId,
      transport,
      clock: deps.clock,
      usesPathDestination: false,
    });
  const filesOf = (user: string) => clientOf(toDavBase(server, "files", user, ...below));

  async function check(signal: AbortSignal): Promise<CheckOutcome> {
    const found = await discover(clientOf(server), signal);
    if (found.kind !== "ok") return found;
    const { details } = found;
    const setting = below.length === 0 ? "url" : "root";
    const root = await lookAtRoot(filesOf(details.user), deps, signal, setting);
    if (root.kind !== "ok") return root;
    return {
      kind: "ok",
      probeResult: {
        ...root.probeResult,
        ...details,
        // A write keeps the etag when the file's time, in whole seconds, stays the same.
        etag: "coarse",
        // Chunked uploads need no length; a single request does.
        chunked_upload: details.chunks,
        if_match: true,
        // The server normalizes names to NFC.
        normalisation_sensitive: false,
      },
    };
  }

  const savedResult = request.probeResult;
  const probed =
    savedResult?.["version"] === PROBE_VERSION
      ? ({ kind: "ok", probeResult: savedResult } as const)
      : await check(request.signal);
  if (probed.kind !== "ok") return probed;
  const details = probed.probeResult as ServerDetails;
  const isOwnCloud = details.product === "owncloud";
  const core = createDavCore({ client: filesOf(details.user), probeResult: details, deps });
  const trashClient = clientOf(
    isOwnCloud
      ? toDavBase(server, "trash-bin", details.user)
      : toDavBase(server, "trashbin", details.user, "trash"),
  );
  const trash = createCloudTrash(trashClient);
  const uploadsClient = clientOf(toDavBase(server, "uploads", details.user));
  const anyDestination = core.client.destination({ segments: ["upload"], isFolder: false });
  const unfinished = createUnfinishedUploads(uploadsClient, anyDestination, deps);
  const uploads = {
    core,
    client: uploadsClient,
    unfinished,
    pieceBytes: request.pieceBytes,
    chunks: details.chunks,
  };
  const verbs = createDavVerbs(core, permits);
  const capabilities: ProviderCapabilities = {
    ...toCapabilities(request.capabilities, details),
    trash: details.trash,
  };

  const provider: CloudProvider = {
    ...verbs,
    capabilities,
    ...(details.trash && {
      trash: createTrash({
        core,
        listed: trashClient,
        restoring: isOwnCloud
          ? undefined
          : clientOf(toDavBase(server, "trashbin", details.user, "restore")),
        below,
      }),
    }),
    ...(details.chunks && { recover: ({ signal }) => unfinished.sweep(signal) }),
    async list(input) {
      const listing = await verbs.list(input);
      if (listing.kind === "ok" && details.chunks) await unfinished.sweep(input.signal);
      return listing;
    },
    createFolder: async (input) =>
      refuseName(input.name, details) ??
      verbs.createFolder({ ...input, name: compose(input.name) }),
    rename: async (input) =>
      refuseName(input.name, details) ?? verbs.rename({ ...input, name: compose(input.name) }),
    async upload(input) {
      const refusal = refuseName(input.name, details);
      if (refusal === undefined)
        return uploadToCloud(uploads, { ...input, name: compose(input.name) });
      input.content.destroy();
      return refusal;
    },
    async discardSession({ session }) {
      const savedChunks = toSavedChunks(session);
      if (savedChunks !== undefined) await unfinished.discard(savedChunks.folder);
    },
    replace: (input) =>
      replaceFile(core, input, permits, (replacement, current) =>
        details.chunks && current.strongTag !== undefined
          ? replaceInPieces(uploads, replacement, current)
          : swapFile(provider, replacement, deps),
      ),
    delete(input) {
      const permanently = input.permanently === true;
      const headers = permanently ? { "x-nc-skip-trashbin": "true" } : {};
      return deleteItem(core, { ...input, headers }, permits, async (current) => {
        const { fileId, permissions } = current;
        if (!details.trash || fileId === undefined) return { kind: "ok", how: "permanent" };
        if (permanently) {
          // Servers that do not know the header have moved it to the trash.
          const lies = await trash.find(fileId, input.signal);
          const isGone = lies === undefined || (await trash.purge(fileId, input.signal));
          return { kind: "ok", how: isGone ? "permanent" : "trashed" };
        }
        // External storage may have no trash.
        const isMounted = permissions?.includes("M") === true;
        const isInTrash = !isMounted || (await trash.find(fileId, input.signal)) !== undefined;
        return { kind: "ok", how: isInTrash ? "trashed" : "permanent" };
      });
    },
    check: ({ signal }) => check(signal),
    close: async () => undefined,
  };
  return { kind: "ok", provider: withFinishedRenames(provider, deps), probeResult: details };
}

/** Returns the failure of an operation that the item's permissions forbid, so that no request is sent. */
const permits: Permits = (action, { permissions }): Failure | undefined =>
  permissions === undefined || permissions.includes(LETTERS[action])
    ? undefined
    : { kind: "forbidden", note: "permissions" };

function compose(name: string): string {
  return name.isWellFormed() ? name.normalize("NFC") : name;
}
