import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import { createNextcloudType } from "../../../storage/cloud/nextcloud/provider.ts";
import { toDavBase, toServerBase } from "../../../storage/cloud/nextcloud/server.ts";
import type {
  CloudProvider,
  CloudProviderType,
  ProbeResult,
  ProviderCapabilities,
} from "../../../storage/cloud/provider.ts";
import { createTransport } from "../../../storage/cloud/transport.ts";
import { toBase, type DavBase } from "../../../storage/cloud/webdav/address.ts";
import { createDavClient, type DavClient } from "../../../storage/cloud/webdav/client.ts";
import { davProps } from "../../../storage/cloud/webdav/items.ts";
import { webdav } from "../../../storage/cloud/webdav/provider.ts";
import type { CloudSubject } from "../../conformance/cloud-provider.suite.ts";
import { testProviderDeps } from "./vault-cloud.ts";

/** A WebDAV or Nextcloud server that runs somewhere else. */
export interface RealDavServer {
  /** As the server was found. */
  readonly capabilities: ProviderCapabilities;
  readonly probeResult: ProbeResult;
  readonly pieceBytes: number;
  /** Creates a folder of its own on the server and connects it twice. Disposing of it deletes the folder. */
  open(): Promise<CloudSubject>;
}

/** Variables that name a server; its account should hold nothing else. */
export const REAL_DAV = {
  webdav:
    "CROFT_TEST_WEBDAV_URL, CROFT_TEST_WEBDAV_USERNAME and CROFT_TEST_WEBDAV_PASSWORD name no real server",
  nextcloud:
    "CROFT_TEST_NEXTCLOUD_URL, CROFT_TEST_NEXTCLOUD_USERNAME and CROFT_TEST_NEXTCLOUD_PASSWORD name no real server",
} as const;

/** The smallest pieces that Nextcloud allows. */
const PIECE_BYTES = 5 * 1024 * 1024;
const calm = new AbortController().signal;

/** Returns the server that the environment names; undefined without the variables. */
export async function findRealDavServer(
  kind: "webdav" | "nextcloud",
  environment: Readonly<Record<string, string | undefined>>,
): Promise<RealDavServer | undefined> {
  const read = (name: string) => environment[`CROFT_TEST_${kind.toUpperCase()}_${name}`];
  const [url, username, password] = [read("URL"), read("USERNAME"), read("PASSWORD")];
  if (!url || !username || !password) return undefined;
  const type: CloudProviderType = kind === "webdav" ? webdav : createNextcloudType(PIECE_BYTES);

  async function connect(root: string, agent: Agent, probeResult: ProbeResult | undefined) {
    const outcome = await type.connect(
      {
        connectionId: randomUUID(),
        settings: { url: url ?? "", root, username: username ?? "" },
        credentials: { password: password ?? "" },
        probeResult,
        saveCredentials: async () => undefined,
        signal: calm,
      },
      { ...deps, guarded: agent },
    );
    if (outcome.kind !== "ok") throw new Error(JSON.stringify(outcome));
    return outcome;
  }

  function clientOf(base: DavBase, probeResult: ProbeResult, agent: Agent): DavClient {
    return createDavClient({
      base,
      username: username ?? "",
      password: password ?? "",
      signing: probeResult["signing"] === "digest" ? "digest" : "basic",
      newId: randomUUID,
      transport: createTransport(agent),
      clock: Date.now,
      usesPathDestination: probeResult["path_destination"] === true,
    });
  }

  const deps = {
    ...testProviderDeps("", Date.now),
    newId: () => randomUUID(),
    sleep: (ms: number) => sleep(ms),
  };
  const firstAgent = new Agent();
  const first = await connect("", firstAgent, undefined);
  const basesOf = (root: string) => toBases(kind, url, String(first.probeResult["user"]), root);

  return {
    capabilities: first.provider.capabilities,
    probeResult: first.probeResult,
    pieceBytes: PIECE_BYTES,

    async open() {
      const root = `croft-suite-${randomUUID()}`;
      const made = await first.provider.createFolder({ parent: "", name: root, signal: calm });
      if (made.kind !== "ok") throw new Error(JSON.stringify(made));
      const agent = new Agent();
      const { provider, probeResult } = await connect(root, agent, undefined);
      const { provider: other } = await connect(root, agent, probeResult);
      const bases = basesOf(root);
      const files = clientOf(bases.files, probeResult, agent);
      const trash = bases.trash && clientOf(bases.trash, probeResult, agent);
      return {
        provider,
        other,
        faults: {},
        async overwrite(id, bytes) {
          const place = { segments: id.split("/"), isFolder: false };
          const answer = await files.send({ method: "PUT", place, body: bytes, signal: calm });
          if (answer.kind !== "answered" || answer.status >= 300)
            throw new Error(JSON.stringify(answer));
          answer.discard();
        },
        async leftovers() {
          const names = await listTemporary(files, provider, "");
          if (bases.uploads === undefined) return names;
          const uploads = await listNames(clientOf(bases.uploads, probeResult, agent), []);
          return [...names, ...uploads.filter((name) => name.startsWith("croft-"))];
        },
        ...(trash === undefined ? {} : { restoreLast: () => restoreLast(trash) }),
        async [Symbol.asyncDispose]() {
          await first.provider.delete({
            id: made.item.id,
            expected: {},
            permanently: true,
            signal: calm,
          });
          await agent.destroy();
        },
      };
    },
  };
}

interface Bases {
  readonly files: DavBase;
  /** Nextcloud's folders of unfinished uploads and of the trash. */
  readonly uploads?: DavBase;
  readonly trash?: DavBase;
}

function toBases(kind: "webdav" | "nextcloud", url: string, user: string, root: string): Bases {
  const placed = kind === "webdav" ? toBase(url, root) : toServerBase(url);
  if (placed.kind !== "ok") throw new Error(JSON.stringify(placed));
  const { base } = placed;
  if (kind === "webdav") return { files: base };
  return {
    files: toDavBase(base, "files", user, root),
    uploads: toDavBase(base, "uploads", user),
    trash: toDavBase(base, "trashbin", user),
  };
}

/** Names of the children of a folder as the server lists them, our temporary ones included. */
async function listNames(client: DavClient, segments: readonly string[]): Promise<string[]> {
  const names: string[] = [];
  const depth = client.base.segments.length + segments.length;
  await client.propfind(
    { place: { segments, isFolder: true }, depth: "1", props: davProps, signal: calm },
    (_response, path) => {
      if (path !== undefined && path.length > depth) names.push(path.at(-1) ?? "");
    },
  );
  return names;
}

async function listTemporary(
  client: DavClient,
  provider: CloudProvider,
  folder: string,
): Promise<string[]> {
  const segments = folder.split("/").filter((segment) => segment !== "");
  const own = (await listNames(client, segments)).filter((name) => /^\.?croft-/.test(name));
  const listed = await provider.list({ folder, signal: calm });
  const folders = listed.kind === "ok" ? listed.items.filter(({ kind }) => kind === "folder") : [];
  for (const { id } of folders) own.push(...(await listTemporary(client, provider, id)));
  return own;
}

/** Restores the item that was deleted last, as the server's own pages do. The trash adds the time to each name. */
async function restoreLast(client: DavClient): Promise<void> {
  const timeOf = (name: string) => Number(/\.d(\d+)/.exec(name)?.[1] ?? 0);
  const names = await listNames(client, ["trash"]);
  const [last = ""] = names.toSorted((one, other) => timeOf(other) - timeOf(one));
  const answer = await client.send({
    method: "MOVE",
    place: { segments: ["trash", last], isFolder: false },
    headers: {
      destination: client.destination({ segments: ["restore", last], isFolder: false }),
    },
    signal: calm,
  });
  if (answer.kind !== "answered" || answer.status >= 300) throw new Error(JSON.stringify(answer));
  answer.discard();
}
