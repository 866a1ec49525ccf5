import { join } from "node:path";
import type { Database } from "../../../storage/engine/database.ts";
import { listPublicNames } from "../../../storage/tables/forge/issues/mentionable.ts";
import type { ForgeFeature } from "../feature.ts";
import { instanceSettingsRoutes } from "./instance-settings.routes.ts";
import { createMissingFeatures } from "./missing-features.ts";
import { createRendering, createRenderingThreads } from "../../rendering/rendering.service.ts";
import { renderingRoutes } from "../rendering/rendering.routes.ts";
import { createTemplates } from "../templates/templates.service.ts";
import { templateRoutes } from "../templates/templates.routes.ts";

/**
 * Wires up templates and rendering. Nothing is loaded before the first request. Templates, rendering and instance
 * settings: the group "miscellaneous" of the forge document.
 */
export function createMiscellaneous(deps: {
  readonly db: Database;
  /** Returns unpredictable bytes. */
  readonly random: (bytes: number) => Uint8Array;
  /** The configured public address without a trailing slash. */
  readonly publicUrl: () => string;
  /** The data directory; an operator's templates are in `custom` below it. */
  readonly dataDirectory: string;
  /** Returns the rate-limit key of an address; an IPv6 network has one key. */
  readonly addressKey: (address: string) => string;
  /** Maximum bytes of any upload. */
  readonly uploadBytesMax: number;
  readonly warn: (message: string) => void;
  readonly reportBug: (error: unknown) => void;
}) {
  const { db, publicUrl } = deps;
  const templates = createTemplates({
    customDirectory: join(deps.dataDirectory, "custom"),
    warn: deps.warn,
  });
  const rendering = createRendering({
    threads: createRenderingThreads(deps.random),
    publicUrl,
    findMentionable: (names) => listPublicNames(db, names),
    reportBug: deps.reportBug,
  });
  return {
    services: { templates, rendering },
    routes: [
      ...instanceSettingsRoutes(createMissingFeatures(deps)),
      ...templateRoutes({ templates, urls: { publicUrl } }),
      ...renderingRoutes({ rendering, addressKey: deps.addressKey }),
    ],
    /** Terminates the rendering threads. */
    close: rendering.close,
  } satisfies ForgeFeature;
}
