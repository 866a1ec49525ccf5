import { randomBytes } from "node:crypto";
import { bindRoutes } from "../http/bind.ts";
import type { Api, Route } from "../http/handle.ts";
import type { MountedApi, PartHandler } from "../http/server.ts";
import { createAddressCount, createOperations } from "../pages/operations.ts";
import { createPageHandler } from "../pages/page-handler.ts";
import { createPageServer } from "../pages/page-server.ts";
import type { OpenForgeSide } from "../people/forge-side.ts";
import { invitationPages } from "../people/invitation-page.tsx";
import { peoplePages } from "../people/people-pages.tsx";
import type { Provider } from "../sign-in/oidc-site.ts";
import { createRendering, createRenderingThreads } from "../rendering/rendering.service.ts";
import type { VaultAccounts } from "../vault/accounts/accounts.ts";
import type { VaultCaller } from "../vault/caller.ts";
import { createPagesApi, createPageOperations } from "../vault/pages/operations.ts";
import { createPageSessions } from "../vault/pages/sessions.ts";
import { createVaultSite, type VaultSiteDeps } from "../vault/pages/site.tsx";
import type { ServiceDeps } from "./services.ts";
import type { TransportTools } from "./transport-tools.ts";

/** Wires up the pages of the vault, which call the routes of its API in process. */
export function createVaultPages(
  {
    db,
    input,
    addresses,
    tools,
    log,
    openForgeSide: openForge,
    provider,
  }: Pick<ServiceDeps, "db" | "input" | "addresses" | "log"> & {
    readonly provider: Provider | undefined;
    readonly tools: TransportTools;
    readonly openForgeSide: OpenForgeSide;
  },
  {
    accounts,
    api,
    routes,
    findInvitation,
  }: {
    readonly accounts: VaultAccounts;
    readonly api: Api<VaultCaller>;
    readonly routes: readonly Route[];
    readonly findInvitation: VaultSiteDeps["findInvitation"];
  },
): {
  /** The API for the scripts of the pages. */
  readonly surface: MountedApi;
  readonly servePage: PartHandler;
  /** Terminates the rendering threads. */
  close(): Promise<void>;
} {
  const { settings, clock } = input;
  const { publicUrl } = addresses;
  const { signIn, passwords } = accounts;
  const { toServerRequest, report, bodies, limiter } = tools.binder;
  const count = createAddressCount(limiter);
  const sessions = createPageSessions({ db, clock, signIn, passwords, count });
  const rendering = createRendering({
    threads: createRenderingThreads(randomBytes),
    publicUrl,
    findMentionable: async () => [],
    reportBug: (error) => log.error({ err: error }, "rendering failed"),
  });
  const pagesApi = createPagesApi(api, sessions);
  const site = createVaultSite({
    sessions,
    identities: accounts.identities,
    provider,
    rendering,
    findInvitation,
    isResetLinkUsable: (token) => passwords.isUsable(token),
    operations: createPageOperations(createOperations(api, routes, count)),
    furtherPages: [
      ...peoplePages(openForge),
      ...invitationPages({ openForge, isVaultCodeUsable: passwords.isUsable }),
    ],
  });
  return {
    surface: { api: pagesApi, handle: bindRoutes(pagesApi, routes, tools.binder) },
    servePage: createPageServer({
      siteName: site.name,
      answerPage: createPageHandler({
        site,
        publicUrl,
        instanceName: settings.instanceName,
        limiter,
        clock,
        reportBug: tools.reportBug,
      }),
      toServerRequest,
      bodies,
      addressKey: limiter.addressKey,
      uploadBytesMax: settings.maxUploadBytes,
      report,
    }),
    close: () => rendering.close(),
  };
}
