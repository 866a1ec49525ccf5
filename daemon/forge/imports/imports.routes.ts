import { mirrorEndpoints } from "../../contract/forge/repositories/mirrors.ts";
import type { Route } from "../../http/handle.ts";
import { page } from "../../http/serve.ts";
import { serve } from "../handle.ts";
import { toRepositoryView } from "../repositories/repository.view.ts";
import type { ForgeUrls } from "../urls.ts";
import {
  toCredentials,
  toImportView,
  toMigrateOptions,
  toNewPushMirror,
  toPullMirrorView,
  toPushMirrorView,
} from "./imports.view.ts";
import type { Imports } from "./imports.service.ts";
import type { createMigrate } from "./migrate.service.ts";
import type { Mirrors } from "./push-mirrors.service.ts";

/** Routes of imports and mirrors. */
export function importRoutes({
  migrate,
  imports,
  mirrors,
  urls,
}: {
  readonly migrate: ReturnType<typeof createMigrate>;
  readonly imports: Imports;
  readonly mirrors: Mirrors;
  readonly urls: ForgeUrls;
}): Route[] {
  return serve(mirrorEndpoints, {
    migrateRepository: async ({ caller, body, request }) =>
      toRepositoryView(await migrate(toMigrateOptions(body), caller, request.signal), urls),
    getImport: async ({ opened }) => toImportView(await imports.get(opened)),
    cancelImport: async ({ opened }) => toImportView(await imports.cancel(opened)),
    resumeImport: async ({ opened, body, caller }) =>
      toImportView(await imports.resume(opened, toCredentials(body), caller)),
    getPullMirror: async ({ opened }) =>
      toPullMirrorView(await mirrors.getPull(opened), opened.repository),
    deletePullMirror: ({ opened }) => mirrors.removePull(opened),
    async syncMirror({ opened }) {
      await mirrors.sync(opened);
      return {};
    },
    async syncPushMirrors({ opened }) {
      await mirrors.syncPush(opened);
      return {};
    },
    listPushMirrors: async ({ opened, query }) => {
      const { records, total } = await mirrors.listPush(opened, query);
      return page(
        records.map((mirror) => toPushMirrorView(mirror, opened.repository)),
        total,
      );
    },
    getPushMirror: async ({ opened, params }) =>
      toPushMirrorView(await mirrors.getPush(opened, params.name), opened.repository),
    addPushMirror: async ({ opened, caller, body }) =>
      toPushMirrorView(
        await mirrors.addPush(opened, caller, toNewPushMirror(body)),
        opened.repository,
      ),
    deletePushMirror: ({ opened, params }) => mirrors.removePush(opened, params.name),
  });
}
