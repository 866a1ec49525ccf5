import { join } from "node:path";
import type { Database } from "../../storage/engine/database.ts";
import { listPublicNames } from "../../storage/tables/forge/issues/mentionable.ts";
import type { Route } from "../http/handle.ts";
import { createRenderingWithThreads } from "./rendering/rendering.ts";
import type { Rendering } from "./rendering/rendering.service.ts";
import { logoRoutes } from "./rendering/logos.routes.ts";
import { renderingRoutes } from "./rendering/rendering.routes.ts";
import { createTemplates, type Templates } from "./templates/templates.service.ts";
import { templateRoutes } from "./templates/templates.routes.ts";

/** What the forge document calls miscellaneous: templates and rendering. */
export interface Miscellaneous {
  readonly templates: Templates;
  readonly rendering: Rendering;
  readonly routes: readonly Route[];
  /** Ends the threads of rendering. */
  close(): Promise<void>;
}

/** Joins templates and rendering to the database and the data directory. Nothing is loaded before it is asked for. */
export function createMiscellaneous(deps: {
  readonly db: Database;
  /** Unpredictable bytes. */
  readonly random: (bytes: number) => Uint8Array;
  /** The configured public address without a trailing slash. */
  readonly publicUrl: () => string;
  /** The data directory; an operator's templates are in `custom` below it. */
  readonly dataDirectory: string;
  /** The key of an address: an IPv6 network counts as one. */
  readonly addressKey: (address: string) => string;
  readonly warn: (message: string) => void;
  readonly reportBug: (error: unknown) => void;
}): Miscellaneous {
  const { db, publicUrl } = deps;
  const templates = createTemplates({
    customDirectory: join(deps.dataDirectory, "custom"),
    warn: deps.warn,
  });
  const rendering = createRenderingWithThreads({
    random: deps.random,
    publicUrl,
    findMentionable: (names) => listPublicNames(db, names),
    reportBug: deps.reportBug,
  });
  return {
    templates,
    rendering,
    routes: [
      ...templateRoutes({ templates, urls: { publicUrl } }),
      ...renderingRoutes({ rendering, addressKey: deps.addressKey }),
      ...logoRoutes(),
    ],
    close: rendering.close,
  };
}
