import { Readable } from "node:stream";
import { Agent } from "undici";
import { afterAll, describe, expect, test } from "vitest";
import { createNextcloudType } from "../../../../storage/cloud/nextcloud/provider.ts";
import type { CloudProvider, SessionStore } from "../../../../storage/cloud/provider.ts";
import {
  calm,
  done,
  get,
  pattern,
  put,
  same,
  tree,
} from "../../../conformance/cloud-provider/acting.ts";
import { startDropboxServer } from "../../../stand-ins/dropbox-server.ts";
import { startGoogleDriveServer } from "../../../stand-ins/google-drive-server.ts";
import { startNextcloud } from "../../../stand-ins/nextcloud-server.ts";
import { startOneDriveServer } from "../../../stand-ins/onedrive-server.ts";
import {
  type ProxiedRequest,
  startFaultProxy,
  type FaultProxy,
} from "../../../support/cloud/fault-proxy.ts";
import { openS3Subject, SMALL_PARTS } from "../../../support/cloud/s3-subject.ts";
import { testProviderDeps } from "../../../support/cloud/vault-cloud.ts";
import {
  connectDropbox,
  connectGoogleDrive,
  connectOneDrive,
  type Way,
} from "../../../support/cloud/vendor-drives.ts";

const agent = new Agent();
afterAll(() => agent.destroy());

const PIECE = 320 * 1024;
const bytes = pattern(4 * PIECE + 1000);

interface Opened extends AsyncDisposable {
  readonly proxy: FaultProxy;
  /** Connects as another start of the daemon does. */
  connect(): Promise<CloudProvider>;
}

interface Vendor {
  readonly open: () => Promise<Opened>;
  /** Whether a request carries a piece of the file. */
  readonly isPiece: (request: Pick<ProxiedRequest, "method" | "path">) => boolean;
  /** Requests that look like a piece and ask how far the session is. */
  readonly queries: number;
}

async function openVendor<Server extends AsyncDisposable & { readonly origin: string }>(
  server: Server,
  connect: (server: Server, way: Way) => Promise<CloudProvider>,
): Promise<Opened> {
  const proxy = await startFaultProxy({ target: server.origin });
  return {
    proxy,
    connect: () => connect(server, { dispatcher: agent, origin: proxy.origin }),
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

const vendors: Readonly<Record<string, Vendor>> = {
  onedrive: {
    open: async () =>
      openVendor(await startOneDriveServer(), (server, way) =>
        connectOneDrive(server, way, { simpleBytesMax: 1000, fragmentBytes: PIECE }),
      ),
    isPiece: ({ method, path }) => method === "PUT" && path.startsWith("/signed/upload/"),
    queries: 0,
  },
  google_drive: {
    open: async () =>
      openVendor(await startGoogleDriveServer(), (server, way) =>
        connectGoogleDrive(server, way, { simpleBytesMax: 1000, pieceBytes: 256 * 1024 }),
      ),
    isPiece: ({ method, path }) => method === "PUT" && path.startsWith("/upload/"),
    queries: 1,
  },
  dropbox: {
    open: async () =>
      openVendor(await startDropboxServer(), (server, way) => connectDropbox(server, way, PIECE)),
    isPiece: ({ path }) => path.startsWith("/2/files/upload_session/"),
    queries: 1,
  },
  nextcloud: {
    async open() {
      const account = { username: "anna", password: "app-password", userId: "anna" };
      const server = await startNextcloud(account);
      const proxy = await startFaultProxy({ target: server.origin });
      const connect = async () => {
        const outcome = await createNextcloudType(PIECE).connect(
          {
            connectionId: "c",
            settings: { url: proxy.origin, username: account.username, root: "" },
            credentials: { password: account.password },
            probeResult: undefined,
            saveCredentials: async () => undefined,
            signal: calm,
          },
          {
            ...testProviderDeps("/nowhere", Date.now),
            newId: () => crypto.randomUUID(),
            guarded: agent,
          },
        );
        if (outcome.kind !== "ok") throw new Error(JSON.stringify(outcome));
        // A listing sweeps the leftovers of an earlier start.
        await tree(outcome.provider);
        return outcome.provider;
      };
      return {
        proxy,
        connect,
        async [Symbol.asyncDispose]() {
          await proxy[Symbol.asyncDispose]();
          await server[Symbol.asyncDispose]();
        },
      };
    },
    isPiece: ({ method, path }) => method === "PUT" && path.includes("/dav/uploads/"),
    queries: 0,
  },
  s3: {
    async open() {
      const limits = { ...SMALL_PARTS, partBytes: PIECE };
      const subject = await openS3Subject({ isProxied: true, limits, server: { pageEntries: 1 } });
      const { proxy, probeResult } = subject;
      if (proxy === undefined) throw new Error("the subject has no proxy");
      return {
        proxy,
        connect: () => subject.connect({ probeResult }),
        [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose](),
      };
    },
    isPiece: ({ method, path }) => method === "PUT" && path.includes("partNumber="),
    queries: 0,
  },
};

/** A row that keeps a session. */
function keep(): SessionStore & { saved: string | undefined } {
  const kept = {
    saved: undefined as string | undefined,
    async save(session: string | undefined) {
      kept.saved = session;
    },
  };
  return kept;
}

function upload(provider: CloudProvider, session: SessionStore | undefined, failAt = Infinity) {
  const content = Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += 50_000) {
        if (at >= failAt) throw new Error("the daemon died");
        yield bytes.subarray(at, at + 50_000);
      }
    })(),
    { objectMode: false },
  );
  const name = "large.bin";
  const size = bytes.length;
  return provider.upload({
    parent: "",
    name,
    content,
    size,
    contentType: undefined,
    session,
    signal: calm,
  });
}

describe.each(Object.entries(vendors))("a kept session of %s", (_type, vendor) => {
  /** Sends about half of the file, as a daemon does that is killed in the middle. */
  async function die(opened: Opened) {
    const session = keep();
    const dying = upload(await opened.connect(), session, bytes.length / 2);
    await expect(dying).rejects.toThrow("the daemon died");
    expect(session.saved).toBeTypeOf("string");
    return session;
  }

  const countPieces = ({ log }: FaultProxy) =>
    log.filter((line) => {
      const [method = "", path = ""] = line.split(" ");
      return vendor.isPiece({ method, path });
    }).length;

  test("receives only unconfirmed bytes after the daemon died", async () => {
    await using opened = await vendor.open();
    await using whole = await vendor.open();
    done(await upload(await whole.connect(), undefined));
    const session = await die(opened);
    const sent = countPieces(opened.proxy);
    expect(sent).toBeGreaterThan(0);
    const provider = await opened.connect();
    const item = done(await upload(provider, session));
    same(await get(provider, item.id), bytes);
    expect(countPieces(opened.proxy) - vendor.queries).toBe(countPieces(whole.proxy));
    expect(Object.keys(await tree(provider))).toEqual(["large.bin"]);
  });

  test("that has ended is replaced by another one", async () => {
    await using opened = await vendor.open();
    const session = await die(opened);
    const provider = await opened.connect();
    if (provider.discardSession === undefined) session.saved = "gone";
    else await provider.discardSession({ session: session.saved ?? "", signal: calm });
    const before = session.saved;
    const item = done(await upload(provider, session));
    same(await get(provider, item.id), bytes);
    expect(session.saved).not.toBe(before);
  });

  test("that completed the file is recognized by its bytes", async () => {
    await using opened = await vendor.open();
    const session = keep();
    const item = done(await upload(await opened.connect(), session));
    const provider = await opened.connect();
    const sent = countPieces(opened.proxy);
    expect(done(await upload(provider, session)).id).toBe(item.id);
    expect(countPieces(opened.proxy) - sent).toBeLessThanOrEqual(vendor.queries);
    expect(Object.keys(await tree(provider))).toEqual(["large.bin"]);
  });

  test("is a conflict when another file has the name", async () => {
    await using opened = await vendor.open();
    const session = await die(opened);
    const provider = await opened.connect();
    await put(provider, "", "large.bin", "theirs");
    expect((await upload(provider, session)).kind).toBe("conflict");
    expect(await tree(provider)).toEqual({ "large.bin": "theirs" });
  });
});
