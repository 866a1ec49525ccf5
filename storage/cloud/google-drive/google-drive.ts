import { asObject, asText, type JsonObject } from "../json.ts";
import type { OAuthVendor } from "../oauth.ts";
import { openSignedIn } from "../oauth-sender.ts";
import type { Tokens } from "../oauth-tokens.ts";
import { brokenNameRule, type Failure } from "../outcomes.ts";
import {
  PROBED_ACCOUNT,
  PROBED_ACCOUNT_NAME,
  LISTING_ITEMS_MAX,
  type CloudProvider,
  type ConnectOutcome,
  type ConnectRequest,
  type ProbeResult,
  type ProviderCapabilities,
  type ProviderDeps,
} from "../provider.ts";
import { createDriveApi, type DriveApi } from "./api.ts";
import { createFolder } from "./create.ts";
import { createDrive } from "./drive.ts";
import { toChangeFailure, toReadFailure } from "./failures.ts";
import { createNames } from "./names.ts";
import { readFile } from "./read.ts";
import { move, remove, rename } from "./relocate.ts";
import { replace } from "./replace.ts";
import { createTrash } from "./trash.ts";
import { discardSession, upload } from "./upload.ts";

/** Sizes and times; tests use small ones. */
export interface GoogleDriveTuning {
  /** Entries of a page of a listing; Drive returns 1000 at most. */
  readonly pageSize: number;
  /** Files up to this size are sent as one request. */
  readonly simpleBytesMax: number;
  /** Size of a piece of a resumable upload: a multiple of 256 KiB. */
  readonly pieceBytes: number;
  readonly headTimeoutMs: number | undefined;
}

const usual: GoogleDriveTuning = {
  pageSize: 1000,
  simpleBytesMax: 5 * 1024 * 1024,
  pieceBytes: 8 * 1024 * 1024,
  headTimeoutMs: undefined,
};

/** Opens a drive: `root` is the API's origin. */
export async function openGoogleDrive(input: {
  readonly request: ConnectRequest;
  readonly deps: ProviderDeps;
  readonly vendor: OAuthVendor;
  readonly root: string;
  readonly capabilities: ProviderCapabilities;
  readonly tuning: Partial<GoogleDriveTuning>;
}): Promise<ConnectOutcome> {
  const { request, deps, vendor, root, capabilities } = input;
  const tuning = { ...usual, ...input.tuning };
  const { tokens, sender } = openSignedIn(vendor, request, deps, [root]);
  const api = createDriveApi({
    sender,
    root,
    clock: deps.clock,
    headTimeoutMs: tuning.headTimeoutMs,
  });
  const { probeResult } = request;
  if (probeResult !== undefined)
    return {
      kind: "ok",
      provider: createGoogleDrive(api, probeResult, { capabilities, tuning, deps, tokens }),
      probeResult,
    };
  const probed = await probeAccount(api, request.signal);
  if (probed.kind !== "ok") return probed;
  const provider = createGoogleDrive(api, probed.probeResult, {
    capabilities,
    tuning,
    deps,
    tokens,
  });
  return { kind: "ok", provider, probeResult: probed.probeResult };
}

/** Returns the drive's owner, and the id of its root. */
async function probeAccount(
  api: DriveApi,
  signal: AbortSignal,
): Promise<{ readonly kind: "ok"; readonly probeResult: ProbeResult } | Failure> {
  const [about, root] = await Promise.all([
    api.callJson({
      method: "GET",
      service: "v3",
      path: "/about",
      query: { fields: "user(permissionId,emailAddress)" },
      signal,
    }),
    api.callJson({
      method: "GET",
      service: "v3",
      path: "/files/root",
      query: { fields: "id" },
      signal,
    }),
  ]);
  for (const answer of [about, root])
    if (answer.kind !== "ok")
      return answer.kind === "not_found"
        ? { kind: "offline", sent: true, note: "not_found" }
        : toChangeFailure(answer);
  const user = about.kind === "ok" ? userOf(about.value) : undefined;
  const account = user?.["permissionId"];
  const rootId = root.kind === "ok" ? asText(root.value["id"]) : undefined;
  if (typeof account !== "string" || rootId === undefined)
    return { kind: "offline", sent: true, note: "strange_answer" };
  const name = asText(user?.["emailAddress"]);
  const accountName = name === undefined ? {} : { [PROBED_ACCOUNT_NAME]: name };
  return { kind: "ok", probeResult: { [PROBED_ACCOUNT]: account, ...accountName, root: rootId } };
}

function userOf(about: JsonObject): JsonObject | undefined {
  return asObject(about["user"]);
}

function createGoogleDrive(
  api: DriveApi,
  probeResult: ProbeResult,
  {
    capabilities,
    tuning,
    deps,
    tokens,
  }: {
    readonly capabilities: ProviderCapabilities;
    readonly tuning: GoogleDriveTuning;
    readonly deps: ProviderDeps;
    readonly tokens: Tokens;
  },
): CloudProvider {
  const rootId = String(probeResult["root"]);
  const drive = createDrive(api, rootId, tuning.pageSize);
  const names = createNames(drive, deps.sleep);
  const { sleep, newId } = deps;
  const uploadDeps = { drive, names, sizes: tuning, sleep, newId, rootId };

  return {
    capabilities,

    async list({ folder, signal }) {
      const [parent, listing] = await Promise.all([
        drive.lookUpParent(folder, signal),
        drive.list(folder, undefined, signal, LISTING_ITEMS_MAX),
      ]);
      if (parent.kind === "not_a_folder") return { kind: "stale", note: "not_a_folder" };
      if (parent.kind !== "ok") return toChangeFailure(parent);
      if (listing.kind !== "ok") return toChangeFailure(listing);
      return { kind: "ok", items: listing.files.map(({ item }) => item) };
    },

    async stat({ id, signal }) {
      const found = await drive.lookUp(id, signal);
      if (found.kind !== "ok") return toReadFailure(found);
      return found.file.isTrashed
        ? { kind: "not_found", note: "trashed" }
        : { kind: "ok", item: found.file.item };
    },

    read: (input) => readFile(drive, input),

    async createFolder(input) {
      const rule = brokenNameRule(input.name);
      return rule === undefined
        ? createFolder(drive, names, input)
        : { kind: "invalid_name", rule };
    },

    async upload(input) {
      const rule = brokenNameRule(input.name);
      if (rule !== undefined) {
        input.content.destroy();
        return { kind: "invalid_name", rule };
      }
      return upload(input, uploadDeps);
    },

    discardSession: ({ session }) => discardSession(session, drive),
    replace: (input) => replace(input, uploadDeps),

    async rename(input) {
      const rule = brokenNameRule(input.name);
      return rule === undefined ? rename(drive, names, input) : { kind: "invalid_name", rule };
    },

    move: (input) => move(drive, names, input),
    delete: (input) => remove(drive, input),
    trash: createTrash({ drive, names, rootId }),

    async quota({ signal }) {
      const answer = await api.callJson({
        method: "GET",
        service: "v3",
        path: "/about",
        query: { fields: "storageQuota" },
        signal,
      });
      if (answer.kind !== "ok") return toChangeFailure(answer);
      const quota = asObject(answer.value["storageQuota"]);
      // Without a limit the account is unlimited, or shares a limit with others.
      return {
        kind: "ok",
        usedBytes: toBytes(quota?.["usage"]),
        totalBytes: toBytes(quota?.["limit"]),
      };
    },

    async check({ signal }) {
      const probed = await probeAccount(api, signal);
      const isSame =
        probed.kind !== "ok" || probed.probeResult[PROBED_ACCOUNT] === probeResult[PROBED_ACCOUNT];
      return isSame ? probed : { kind: "reauth", note: "other_account" };
    },

    close: () => tokens.idle(),
  };
}

function toBytes(value: unknown): number | undefined {
  return typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}
