import type { ForgeImport } from "../../../storage/tables/forge/repositories/imports.ts";
import type { ForgeMirror } from "../../../storage/tables/forge/repositories/mirrors.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { BodyOf } from "../../contract/endpoint.ts";
import type {
  mirrorEndpoints,
  WireImport,
  WirePullMirror,
  WirePushMirror,
} from "../../contract/forge/repositories/mirrors.ts";
import { toDuration } from "../../utilities/duration.ts";
import { toWireTime } from "../urls.ts";
import { type ImportPart, importParts } from "./import-parts.ts";
import type { MigrateOptions } from "./migrate.service.ts";
import type { NewPushMirror } from "./push-mirrors.service.ts";
import type { Credentials } from "./remote-address.ts";

export function toPullMirrorView(
  mirror: ForgeMirror,
  { mirrorUpdatedAt }: ForgeRepository,
): WirePullMirror {
  return {
    remote_address: mirror.address,
    interval: toDuration(mirror.intervalSeconds),
    updated_at: orNull(mirrorUpdatedAt),
    last_sync_at: orNull(mirror.syncedAt),
    next_sync_at: orNull(mirror.nextAt),
    failures: mirror.failures,
    last_error: mirror.lastError,
  };
}

export function toPushMirrorView(mirror: ForgeMirror, { name }: ForgeRepository): WirePushMirror {
  return {
    repo_name: name,
    remote_name: mirror.name,
    remote_address: mirror.address,
    created: toWireTime(mirror.createdAt),
    last_update: orNull(mirror.syncedAt),
    last_error: mirror.lastError,
    interval: toDuration(mirror.intervalSeconds),
    sync_on_commit: mirror.syncOnCommit,
  };
}

export function toImportView(found: ForgeImport): WireImport {
  const { imported, skipped, totals, part } = found.progress;
  const hasEnded = found.state === "done";
  return {
    service: found.service,
    address: found.address,
    state: found.state,
    current: hasEnded ? "" : part,
    parts: found.parts.map((name) => ({
      name,
      imported: imported[name] ?? 0,
      skipped: skipped[name] ?? 0,
      total: totals[name] ?? null,
    })),
    error: found.error,
    created_at: toWireTime(found.createdAt),
    updated_at: toWireTime(found.updatedAt),
  };
}

/** Converts the body of an import; absent texts are empty, and absent flags false. */
export function toMigrateOptions(
  body: BodyOf<typeof mirrorEndpoints.migrateRepository>,
): MigrateOptions {
  const hasIssues = body.issues === true;
  const hasPulls = body.pull_requests === true;
  // Issues and pull requests have labels, milestones and comments.
  const wanted: Readonly<Record<ImportPart, boolean>> = {
    large_files: body.lfs === true,
    labels: body.labels === true || hasIssues || hasPulls,
    milestones: body.milestones === true || hasIssues || hasPulls,
    releases: body.releases === true,
    issues: hasIssues,
    pulls: hasPulls,
    comments: hasIssues || hasPulls,
    reviews: hasPulls,
  };
  return {
    address: body.clone_addr,
    credentials: toCredentials(body),
    owner: { name: body.repo_owner ?? "", id: body.uid ?? 0 },
    name: body.repo_name,
    description: body.description ?? "",
    isPrivate: body.private ?? false,
    service: body.service ?? "",
    isMirror: body.mirror ?? false,
    mirrorInterval: body.mirror_interval ?? "",
    parts: importParts.filter((part) => wanted[part]),
    hasWiki: body.wiki ?? false,
  };
}

export function toCredentials(
  body: Pick<
    BodyOf<typeof mirrorEndpoints.migrateRepository>,
    "auth_username" | "auth_password" | "auth_token"
  >,
): Credentials {
  return {
    username: body.auth_username ?? "",
    password: body.auth_password ?? "",
    token: body.auth_token ?? "",
  };
}

export function toNewPushMirror(body: BodyOf<typeof mirrorEndpoints.addPushMirror>): NewPushMirror {
  return {
    address: body.remote_address,
    username: body.remote_username ?? "",
    password: body.remote_password ?? "",
    interval: body.interval ?? "",
    syncOnCommit: body.sync_on_commit ?? false,
  };
}

const orNull = (time: number | undefined) => (time === undefined ? null : toWireTime(time));
