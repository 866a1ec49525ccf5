import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { DavContext } from "../../../../../daemon/vault/dav/context.ts";
import { propfind } from "../../../../../daemon/vault/dav/read-methods.ts";
import { DavRefusal } from "../../../../../daemon/vault/dav/refusals.ts";
import type { DavResource } from "../../../../../daemon/vault/dav/tree.ts";

const file = (name: string) => ({ kind: "file", name, holder: undefined }) as DavResource;

/** Lists a folder whose pages are these; an error fails the listing there. Returns what the client and the server see. */
async function list(...pages: readonly (readonly DavResource[] | Error)[]) {
  const resource = {
    ...{ kind: "folder", name: "x", holder: undefined },
    async *list() {
      for (const page of pages) {
        if (page instanceof Error) throw page;
        yield page;
      }
    },
  } as unknown as DavResource;
  let failure: unknown;
  const server = createServer((request, response) => {
    const context = {
      ...{ request: { headers: { depth: "1" } }, message: request, response },
      found: { path: ["x"], place: "x", resource, folder: undefined },
      ...{ caller: {}, db: { all: async () => [] }, clock: () => 0 },
      locks: { list: async () => [] },
      addresses: { toHref: (path: readonly string[]) => path.join("/") },
      readXml: async () => undefined,
    } as unknown as DavContext;
    propfind(context).catch((error: unknown) => {
      failure = error;
      if (!response.headersSent) response.writeHead(503).end();
    });
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const text = await response.text().catch((error: unknown) => error);
  return { status: response.status, text, failure };
}

test("a listing that fails at its beginning has a status of its own", async () => {
  const offline = new DavRefusal(503, "offline");
  expect(await list(offline)).toMatchObject({ status: 503, failure: offline });
});

test("a listing that fails later breaks the connection, and the failure is known to the server", async () => {
  const offline = new DavRefusal(503, "offline");
  const { status, text, failure } = await list([file("a.txt")], offline);
  expect([status, failure]).toEqual([207, offline]);
  expect(text).toBeInstanceOf(Error);
  const whole = await list([file("a.txt")], [file("b.txt")]);
  expect(whole).toMatchObject({ status: 207, failure: undefined });
  expect(whole.text).toMatch(/x\/a\.txt[^]*x\/b\.txt[^]*<\/D:multistatus>\n$/);
});
