import { readdir, readFile, writeFile } from "node:fs/promises";
import { request as sendRaw } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isDav } from "../../../daemon/contract/api-of.ts";
import {
  createDavToken,
  type DavAccount,
  startDavAccount,
} from "../../support/vault/dav-account.ts";

let account: DavAccount;
let dav: DavAccount["dav"];
beforeAll(async () => {
  account = await startDavAccount();
  ({ dav } = account);
});
afterAll(() => account.stop());

/** Sends a request as it stands: fetch would resolve dots and lengths. */
function raw(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  chunks: readonly string[] = [],
): Promise<{ readonly status: number; readonly text: string }> {
  const { daemon, person, token } = account;
  const { hostname, port } = new URL(daemon.url);
  const basic = Buffer.from(`${person.email}:${token}`).toString("base64");
  return new Promise((resolve, reject) => {
    const sent = sendRaw(
      { hostname, port, method, path, headers: { Authorization: `Basic ${basic}`, ...headers } },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () => {
          resolve({ status: response.statusCode ?? 0, text });
          sent.destroy();
        });
      },
    );
    sent.on("error", reject);
    for (const chunk of chunks) sent.write(chunk);
    if (headers["Content-Length"] === undefined || chunks.length > 0) sent.end();
    else sent.flushHeaders();
  });
}

const propfind = (href: string, depth = "1", body?: string) =>
  dav("PROPFIND", href, { headers: { Depth: depth }, ...(body === undefined ? {} : { body }) });

const hrefsOf = (text: string): string[] =>
  [...text.matchAll(/<D:response><D:href>([^<]*)</g)].map(([, href = ""]) => href);

const LOCK = `<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype><D:owner>mira</D:owner></D:lockinfo>`;

const tokenOf = (answer: { readonly headers: Headers }): string =>
  answer.headers.get("lock-token") ?? "";

describe("signing in", () => {
  test("says what it can do before the sign-in, and nothing about the account", async () => {
    const answer = await account.daemon.request("/dav/Files/", { method: "OPTIONS" });
    expect(answer).toMatchObject({ status: 200, text: "" });
    expect(answer.headers.get("dav")).toBe("1, 2");
    expect(answer.headers.get("ms-author-via")).toBe("DAV");
    expect(answer.headers.get("allow")).toContain("PROPFIND");
  });

  test("refuses a password, another account's token and an anonymous client with 401", async () => {
    const { daemon, person, other, token } = account;
    const ask = (basic?: string) =>
      daemon.request("/dav/", {
        method: "PROPFIND",
        headers: { Depth: "0" },
        ...(basic === undefined ? {} : { basic }),
      });
    const password = await ask(`${person.email}:${person.password}`);
    expect(password.status).toBe(401);
    expect(password.text).toContain("croft vault token create");
    expect((await ask(`${other.email}:${token}`)).status).toBe(401);
    const anonymous = await ask();
    expect(anonymous.status).toBe(401);
    expect(anonymous.headers.get("www-authenticate")).toMatch(/^Basic realm=/);
    expect((await ask(`${person.email.toUpperCase()}:${token}`)).status).toBe(207);
  });

  test("lets a token of the scope read list and read only", async () => {
    const { person, daemon } = account;
    const basic = `${person.email}:${await createDavToken(person, "read")}`;
    await dav("PUT", "Files/scope.txt", { body: "x" });
    const ask = (method: string) =>
      dav(method, "Files/scope.txt", { basic, headers: { Depth: "0" } });
    expect((await ask("GET")).status).toBe(200);
    expect((await ask("PROPFIND")).status).toBe(207);
    for (const method of ["PUT", "DELETE", "MKCOL", "MOVE", "COPY", "LOCK", "UNLOCK", "PROPPATCH"])
      expect([method, (await ask(method)).status]).toEqual([method, 403]);
    expect((await daemon.request("/dav/x", { method: "PATCH", basic })).status).toBe(405);
  });

  test("refuses a token that came to a proxy without encryption", async () => {
    const answer = await dav("GET", "Files/", { headers: { "X-Forwarded-Proto": "http" } });
    expect(answer.status).toBe(403);
  });

  test("shows one account nothing of another", async () => {
    const { other, daemon } = account;
    const basic = `${other.email}:${await createDavToken(other, "write")}`;
    await dav("PUT", "Files/private.txt", { body: "mine" });
    await dav("PUT", "documents/all/private.txt", { body: "mine" });
    for (const path of ["/dav/Files/private.txt", "/dav/Files/", "/dav/documents/all/private.txt"])
      expect((await daemon.request(path, { basic })).status).toBe(404);
    const root = await daemon.request("/dav/", {
      method: "PROPFIND",
      basic,
      headers: { Depth: "1" },
    });
    expect(hrefsOf(root.text)).toEqual(["/dav/", "/dav/documents/"]);
  });
});

describe("reading and listing", () => {
  test("lists the root, and refuses a listing of everything", async () => {
    expect(hrefsOf((await propfind("")).text)).toEqual(["/dav/", "/dav/documents/", "/dav/Files/"]);
    for (const headers of [{}, { Depth: "infinity" }]) {
      const answer = await dav("PROPFIND", "", { headers });
      expect(answer.status).toBe(403);
      expect(answer.text).toContain("<D:propfind-finite-depth></D:propfind-finite-depth>");
    }
    expect((await propfind("Nowhere/")).status).toBe(404);
    expect((await propfind("Nowhere", "infinity")).status).toBe(404);
    // A file has nothing below it.
    await dav("PUT", "Files/alone.txt", { body: "x" });
    for (const headers of [{}, { Depth: "infinity" }]) {
      const answer = await dav("PROPFIND", "Files/alone.txt", { headers });
      expect([answer.status, hrefsOf(answer.text)]).toEqual([207, ["/dav/Files/alone.txt"]]);
    }
    const moved = await dav("MOVE", "Files/alone.txt", {
      headers: { Depth: "0", Destination: "/dav/Files/moved.txt" },
    });
    expect(moved.status).toBe(201);
    expect((await dav("DELETE", "Files/moved.txt")).status).toBe(204);
  });

  test("serves names with percent signs, quotes, semicolons and other scripts under the addresses that it lists", async () => {
    const names = ["100% 'a'&b;#1?.txt", "\u66f8 \u00e9.txt", "<b>\u202e.txt", "a+b=c~.txt"];
    await dav("MKCOL", "Files/odd");
    for (const name of names) {
      const put = await dav("PUT", `Files/odd/${encodeURIComponent(name)}`, { body: name });
      expect(put.status).toBe(201);
    }
    expect(new Set(await readdir(join(account.folder, "odd")))).toEqual(new Set(names));
    const [, ...hrefs] = hrefsOf((await propfind("Files/odd/")).text);
    const contents = await Promise.all(
      hrefs.map(
        async (href) =>
          (await dav("GET", href.slice("/dav/".length).replaceAll("&apos;", "'"))).text,
      ),
    );
    expect(new Set(contents)).toEqual(new Set(names));
  });

  test("serves one entity tag in PUT, PROPFIND and GET, with ranges and conditions", async () => {
    const put = await dav("PUT", "Files/tag.txt", { body: "0123456789" });
    const etag = put.headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[\w-]+"$/);
    expect((await propfind("Files/tag.txt", "0")).text).toContain(`<D:getetag>${etag}</D:getetag>`);
    await propfind("Files/");
    const whole = await dav("GET", "Files/tag.txt");
    expect(whole).toMatchObject({ status: 200, text: "0123456789" });
    expect(whole.headers.get("etag")).toBe(etag);
    const part = await dav("GET", "Files/tag.txt", { headers: { Range: "bytes=2-4" } });
    expect(part).toMatchObject({ status: 206, text: "234" });
    const current = await dav("GET", "Files/tag.txt", { headers: { "If-None-Match": etag } });
    expect(current.status).toBe(304);
    expect((await dav("HEAD", "Files/tag.txt")).headers.get("content-length")).toBe("10");
    expect((await dav("GET", "Files/")).status).toBe(405);
  });

  test("answers named properties, their names, and the quota on request", async () => {
    const quota = `<propfind xmlns="DAV:"><prop><quota-available-bytes/><quota-used-bytes/><x xmlns="urn:x"/></prop></propfind>`;
    const { text } = await propfind("documents/", "0", quota);
    expect(text).toMatch(/<D:quota-available-bytes>\d+<\/D:quota-available-bytes>/);
    expect(text).toContain('<x xmlns="urn:x"/></D:prop><D:status>HTTP/1.1 404 Not Found');
    const names = await propfind("Files/", "0", `<propfind xmlns="DAV:"><propname/></propfind>`);
    expect(names.text).toContain("<D:resourcetype/>");
  });
});

describe("writing", () => {
  test("creates and replaces a file, and compares the versions that the client names", async () => {
    const created = await dav("PUT", "Files/new.txt", {
      body: "one",
      headers: { "If-None-Match": "*" },
    });
    expect(created.status).toBe(201);
    const again = { body: "two", headers: { "If-None-Match": "*" } };
    expect((await dav("PUT", "Files/new.txt", again)).status).toBe(412);
    const etag = created.headers.get("etag") ?? "";
    const named = { body: "three", headers: { "If-Match": etag } };
    expect((await dav("PUT", "Files/new.txt", named)).status).toBe(204);
    expect((await dav("PUT", "Files/new.txt", named)).status).toBe(412);
    expect(await readFile(join(account.folder, "new.txt"), "utf8")).toBe("three");
    expect((await dav("DELETE", "Files/new.txt", { headers: { "If-Match": etag } })).status).toBe(
      412,
    );
    expect((await dav("PUT", "Files/gone/x.txt", { body: "x" })).status).toBe(409);
    expect((await dav("PUT", "Files/folder/", { body: "x" })).status).toBe(409);
    expect((await dav("PUT", "Files", { body: "x" })).status).toBe(405);
    const partial = { body: "x", headers: { "Content-Range": "bytes 0-0/1" } };
    expect((await dav("PUT", "Files/new.txt", partial)).status).toBe(400);
  });

  test("keeps a file that changed in the storage after the version that the client deletes", async () => {
    const created = await dav("PUT", "Files/theirs.txt", { body: "mine" });
    const etag = created.headers.get("etag") ?? "";
    const path = join(account.folder, "theirs.txt");
    await writeFile(path, "changed by another program");
    const named = { headers: { "If-Match": etag } };
    expect((await dav("DELETE", "Files/theirs.txt", named)).status).toBe(412);
    expect(await readFile(path, "utf8")).toBe("changed by another program");
    expect((await dav("DELETE", "Files/theirs.txt")).status).toBe(204);
    await expect(readFile(path)).rejects.toThrow("ENOENT");
  });

  test("finds a file that another program has put into the folder since it was listed", async () => {
    await propfind("Files/");
    await writeFile(join(account.folder, "foreign.txt"), "theirs");
    const first = await dav("PUT", "Files/foreign.txt", { body: "mine" });
    expect(first.status).toBe(503);
    expect(first.headers.get("retry-after")).toBe("1");
    expect((await dav("PUT", "Files/foreign.txt", { body: "mine" })).status).toBe(204);
  });

  test("takes a body without a length, and none that breaks off", async () => {
    const chunked = { "Transfer-Encoding": "chunked" };
    expect(await raw("PUT", "/dav/Files/chunked.txt", chunked, ["one ", "two"])).toMatchObject({
      status: 201,
    });
    expect(await readFile(join(account.folder, "chunked.txt"), "utf8")).toBe("one two");
  });

  test("refuses with 507 a document for which the quota has no room, before its bytes", async () => {
    const length = { "Content-Length": String(500 * 1024 * 1024) };
    expect((await raw("PUT", "/dav/documents/all/big.bin", length)).status).toBe(507);
  });

  test("makes folders with MKCOL once, and deletes them to the trash of the storage", async () => {
    expect((await dav("MKCOL", "Files/made/")).status).toBe(201);
    expect((await dav("MKCOL", "Files/made/")).status).toBe(405);
    expect((await dav("MKCOL", "Files/a/b")).status).toBe(409);
    expect((await dav("MKCOL", "Files/body", { body: "<x/>" })).status).toBe(415);
    expect((await dav("MKCOL", "Another")).status).toBe(403);
    await dav("PUT", "Files/made/in.txt", { body: "x" });
    expect((await dav("DELETE", "Files/made/")).status).toBe(204);
    expect((await dav("DELETE", "Files/made/")).status).toBe(404);
    expect((await dav("DELETE", "Files/")).status).toBe(403);
    const { id } = (await account.person.request("/api/cloud/connections")).json.items[0];
    const trash = await account.person.request(`/api/cloud/connections/${id}/trash`);
    expect(JSON.stringify(trash.json)).toContain('"made"');
  });

  test("keeps what Finder and Explorer write beside files out of storages and listings", async () => {
    expect((await dav("PUT", "Files/._note.txt", { body: "finder" })).status).toBe(201);
    expect((await dav("PUT", "Files/Desktop.ini", { body: "explorer" })).status).toBe(201);
    expect((await dav("GET", "Files/._note.txt")).text).toBe("finder");
    expect((await propfind("Files/._note.txt", "0")).status).toBe(207);
    expect((await propfind("Files/")).text).not.toContain("._note.txt");
    expect(await readdir(account.folder)).not.toContain("._note.txt");
    expect((await dav("PUT", "Files/._note.txt", { body: "finder again" })).status).toBe(204);
    expect((await dav("GET", "Files/._note.txt")).text).toBe("finder again");
    expect((await dav("DELETE", "Files/._note.txt")).status).toBe(204);
    expect((await dav("DELETE", "Files/._note.txt")).status).toBe(404);
    expect((await dav("GET", "Files/._note.txt")).status).toBe(404);
    const { other, daemon } = account;
    const basic = `${other.email}:${await createDavToken(other, "read")}`;
    expect((await daemon.request("/dav/Files/Desktop.ini", { basic })).status).toBe(404);
  });
});

describe("COPY and MOVE", () => {
  const to = (href: string, more: Readonly<Record<string, string>> = {}) => ({
    headers: { Destination: `${account.daemon.url}/dav/${href}`, ...more },
  });

  test("renames and moves in one request, over what is there if the client says so", async () => {
    await dav("MKCOL", "Files/from");
    await dav("MKCOL", "Files/to");
    await dav("PUT", "Files/from/a.txt", { body: "a" });
    await dav("PUT", "Files/to/a.txt", { body: "other a" });
    await dav("PUT", "Files/from/b.txt", { body: "other b" });
    await dav("PUT", "Files/to/b.txt", { body: "b" });
    expect(
      (await dav("MOVE", "Files/from/a.txt", to("Files/to/b.txt", { Overwrite: "F" }))).status,
    ).toBe(412);
    expect((await dav("MOVE", "Files/from/a.txt", to("Files/to/b.txt"))).status).toBe(204);
    const there = join(account.folder, "to");
    expect(await readFile(join(there, "b.txt"), "utf8")).toBe("a");
    expect(await readFile(join(there, "a.txt"), "utf8")).toBe("other a");
    expect(await readdir(join(account.folder, "from"))).toEqual(["b.txt"]);
    expect((await dav("COPY", "Files/to", to("Files/copy"))).status).toBe(201);
    expect((await readdir(join(account.folder, "copy"))).toSorted()).toEqual(["a.txt", "b.txt"]);
    expect((await dav("COPY", "Files/to", to("Files/empty", { Depth: "0" }))).status).toBe(201);
    expect(await readdir(join(account.folder, "empty"))).toEqual([]);
  });

  test("refuses a destination in itself, on another server, outside and without a folder", async () => {
    await dav("MKCOL", "Files/self");
    await dav("PUT", "Files/self/x.txt", { body: "x" });
    const status = async (method: string, from: string, destination: string) =>
      (await dav(method, from, { headers: { Destination: destination } })).status;
    const { url } = account.daemon;
    expect(await status("COPY", "Files/self", `${url}/dav/Files/self/below`)).toBe(403);
    expect(await status("MOVE", "Files/self", `${url}/dav/Files/self/`)).toBe(403);
    expect(await status("MOVE", "Files/self/x.txt", `${url}/dav/Files/self`)).toBe(403);
    expect(await status("MOVE", "Files/self/x.txt", "http://elsewhere.example/dav/Files/y")).toBe(
      502,
    );
    expect(await status("MOVE", "Files/self/x.txt", `${url}/api/documents`)).toBe(502);
    expect(await status("MOVE", "Files/self/x.txt", `${url}/dav/Files/%2e%2e/y`)).toBe(400);
    expect(await status("MOVE", "Files/self/x.txt", `${url}/dav/Files/none/y`)).toBe(409);
    expect(await status("COPY", "Files/self/x.txt", `/dav/Files/self/y.txt`)).toBe(201);
    expect((await dav("MOVE", "Files/self/x.txt")).status).toBe(400);
  });

  test("moves between a connection and the documents by a copy, with properties", async () => {
    await dav("PUT", "Files/report.txt", { body: "quarterly" });
    await dav("PROPPATCH", "Files/report.txt", {
      body: `<propertyupdate xmlns="DAV:"><set><prop><mark xmlns="urn:m">7</mark></prop></set></propertyupdate>`,
    });
    expect((await dav("MOVE", "Files/report.txt", to("documents/all/report.txt"))).status).toBe(
      201,
    );
    expect((await dav("GET", "Files/report.txt")).status).toBe(404);
    expect((await dav("GET", "documents/all/report.txt")).text).toBe("quarterly");
    expect((await propfind("documents/all/report.txt", "0")).text).toContain(
      '<mark xmlns="urn:m">7</mark>',
    );
    expect((await dav("COPY", "documents/all/report.txt", to("Files/back.txt"))).status).toBe(201);
    expect(await readFile(join(account.folder, "back.txt"), "utf8")).toBe("quarterly");
  });
});

describe("locks and properties", () => {
  test("lets only the holder of a lock change a file, until it ends", async () => {
    await dav("PUT", "Files/locked.txt", { body: "x" });
    const locked = await dav("LOCK", "Files/locked.txt", {
      body: LOCK,
      headers: { Timeout: "Second-60" },
    });
    expect(locked.status).toBe(200);
    expect(locked.text).toContain("<D:timeout>Second-60</D:timeout>");
    const token = tokenOf(locked);
    const refused = await dav("PUT", "Files/locked.txt", { body: "y" });
    expect(refused.status).toBe(423);
    expect(refused.text).toContain(
      "<D:lock-token-submitted><D:href>/dav/Files/locked.txt</D:href>",
    );
    expect((await dav("LOCK", "Files/locked.txt", { body: LOCK })).status).toBe(423);
    const If = `(${token})`;
    expect((await dav("PUT", "Files/locked.txt", { body: "y", headers: { If } })).status).toBe(204);
    const refreshed = await dav("LOCK", "Files/locked.txt", {
      headers: { If, Timeout: "Second-90" },
    });
    expect(refreshed.text).toContain("<D:timeout>Second-90</D:timeout>");
    const other = { headers: { "Lock-Token": "<urn:uuid:other>" } };
    expect((await dav("UNLOCK", "Files/locked.txt", other)).status).toBe(409);
    const own = { headers: { "Lock-Token": token } };
    expect((await dav("UNLOCK", "Files/locked.txt", own)).status).toBe(204);
    expect((await dav("DELETE", "Files/locked.txt")).status).toBe(204);
  });

  test("a lock of a folder covers what is in it, also what is new", async () => {
    await dav("MKCOL", "Files/held");
    const token = tokenOf(await dav("LOCK", "Files/held", { body: LOCK }));
    expect((await dav("PUT", "Files/held/x.txt", { body: "x" })).status).toBe(423);
    expect((await dav("MKCOL", "Files/held/y")).status).toBe(423);
    expect((await dav("DELETE", "Files/held")).status).toBe(423);
    const tagged = `<${account.daemon.url}/dav/Files/held> (${token})`;
    const mine = { body: "x", headers: { If: tagged } };
    expect((await dav("PUT", "Files/held/x.txt", mine)).status).toBe(201);
    expect((await propfind("Files/held/")).text.match(/<D:activelock>/g)).toHaveLength(2);
    expect((await dav("DELETE", "Files/held", { headers: { If: tagged } })).status).toBe(204);
    expect((await dav("MKCOL", "Files/held")).status).toBe(201);
  });

  test("refuses a header If that is malformed, and one that does not hold", async () => {
    await dav("PUT", "Files/if.txt", { body: "x" });
    for (const If of ["(", "()", "<a>", "(<a>) <b>", "(Not)", "garbage", "(<a>"])
      expect([
        If,
        (await dav("PUT", "Files/if.txt", { body: "y", headers: { If } })).status,
      ]).toEqual([If, If === "" ? 204 : 400]);
    for (const If of ["(<urn:uuid:none>)", '(["other"])', "<http://elsewhere.example/x> (<a>)"])
      expect((await dav("PUT", "Files/if.txt", { body: "y", headers: { If } })).status).toBe(412);
    const not = { body: "y", headers: { If: "(Not <DAV:no-lock>)" } };
    expect((await dav("PUT", "Files/if.txt", not)).status).toBe(204);
  });

  test("stores properties of clients whole or not at all, and none of its own", async () => {
    await dav("PUT", "Files/props.txt", { body: "x" });
    const patch = (inner: string, href = "Files/props.txt") =>
      dav("PROPPATCH", href, {
        body: `<D:propertyupdate xmlns:D="DAV:" xmlns:w="urn:schemas-microsoft-com:">${inner}</D:propertyupdate>`,
      });
    const windows =
      "<D:set><D:prop><w:Win32FileAttributes>00000020</w:Win32FileAttributes></D:prop></D:set>";
    expect((await patch(windows)).text).toContain("200 OK");
    expect((await propfind("Files/props.txt", "0")).text).toContain("00000020");
    const mixed = await patch(
      `<D:remove><D:prop><w:Win32FileAttributes/></D:prop></D:remove><D:set><D:prop><D:getetag>"x"</D:getetag></D:prop></D:set>`,
    );
    expect(mixed.text).toContain(
      "403 Forbidden</D:status><D:error><D:cannot-modify-protected-property/>",
    );
    expect(mixed.text).toContain("424 Failed Dependency");
    expect((await propfind("Files/props.txt", "0")).text).toContain("00000020");
    expect(
      (await patch(`<D:set><D:prop><w:big>${"x".repeat(20_000)}</w:big></D:prop></D:set>`)).text,
    ).toContain("507");
    const many = Array.from({ length: 100 }, (_, at) => `<w:p${at}>1</w:p${at}>`).join("");
    expect((await patch(`<D:set><D:prop>${many}</D:prop></D:set>`)).text).toContain("507");
    expect((await propfind("Files/props.txt", "0")).text).not.toContain("p99");
    const large = (from: number) =>
      Array.from(
        { length: 5 },
        (_, at) => `<w:l${from + at}>${"x".repeat(15_000)}</w:l${from + at}>`,
      );
    const setLarge = (from: number) =>
      patch(`<D:set><D:prop>${large(from).join("")}</D:prop></D:set>`);
    expect((await setLarge(0)).text).toContain("200 OK");
    expect((await setLarge(5)).text).toContain("507");
    const listed = (await propfind("Files/", "1")).text;
    expect(listed).toContain("</l4>");
    expect(listed).not.toContain("</l5>");
    expect(listed.endsWith("</D:multistatus>\n")).toBe(true);
    expect((await patch(windows, "Files/")).text).toContain("403");
    await dav("DELETE", "Files/props.txt");
    await dav("PUT", "Files/props.txt", { body: "another" });
    expect((await propfind("Files/props.txt", "0")).text).not.toContain("00000020");
  });
});

describe("documents", () => {
  const list = async (href: string) =>
    hrefsOf((await propfind(href)).text)
      .slice(1)
      .map((each) => decodeURIComponent(each.split("/").at(-1) || (each.split("/").at(-2) ?? "")));

  test("a document that is moved onto itself stays, and has the topics of where it is moved to", async () => {
    await dav("MKCOL", "documents/topics/Left");
    await dav("MKCOL", "documents/topics/Held");
    expect((await dav("PUT", "documents/topics/Left/both.txt", { body: "same" })).status).toBe(201);
    const [{ id }] = (await account.person.request("/api/documents?topic=Left")).json.items;
    const move = async (from: string, to: string) => {
      const Destination = `/dav/documents/${to}`;
      return (await dav("MOVE", `documents/${from}`, { headers: { Destination } })).status;
    };
    const topicsNow = async () =>
      (await account.person.request(`/api/documents/${id}`)).json.topics;
    expect(await move("topics/Left/both.txt", "all/both.txt")).toBe(204);
    expect(await topicsNow()).toEqual([]);
    expect(await move("all/both.txt", "topics/Held/both.txt")).toBe(201);
    expect(await move("all/both.txt", "topics/Held/both.txt")).toBe(204);
    expect(await topicsNow()).toEqual(["Held"]);
    expect((await dav("GET", "documents/all/both.txt")).text).toBe("same");
    for (const topic of ["Left", "Held"]) await dav("DELETE", `documents/topics/${topic}`);
    await account.person.request("/api/documents/trash", { method: "DELETE" });
  });

  test("a folder of topics is a topic, and what is put into it has the topic", async () => {
    expect((await dav("MKCOL", "documents/topics/Taxes")).status).toBe(201);
    expect((await dav("MKCOL", "documents/topics/Taxes")).status).toBe(405);
    expect((await dav("MKCOL", "documents/topics/Taxes/2026")).status).toBe(403);
    expect((await dav("MKCOL", "documents/all/x")).status).toBe(403);
    expect((await dav("PUT", "documents/topics/x.txt", { body: "x" })).status).toBe(403);
    expect((await dav("PUT", "documents/topics/Taxes/bill.txt", { body: "1" })).status).toBe(201);
    expect((await dav("PUT", "documents/topics/Taxes/bill.txt", { body: "22" })).status).toBe(204);
    const { items } = (await account.person.request("/api/documents?topic=Taxes")).json;
    expect(items).toMatchObject([{ filename: "bill.txt", size_bytes: 2, topics: ["Taxes"] }]);
    const versions = await account.person.request(`/api/documents/${items[0].id}/versions`);
    expect(versions.json.total).toBe(2);

    await dav("MKCOL", "documents/topics/Old");
    const headers = { Destination: "/dav/documents/topics/Old/bill-2.txt" };
    expect((await dav("MOVE", "documents/topics/Taxes/bill.txt", { headers })).status).toBe(201);
    expect(await list("documents/topics/Taxes/")).toEqual([]);
    expect(await list("documents/topics/Old/")).toEqual(["bill-2.txt"]);
    const moved = await account.person.request(`/api/documents/${items[0].id}`);
    expect(moved.json).toMatchObject({ filename: "bill-2.txt", topics: ["Old"] });

    expect((await dav("DELETE", "documents/topics/Old")).status).toBe(204);
    const trash = await account.person.request("/api/documents/trash");
    expect(trash.json.items).toMatchObject([{ filename: "bill-2.txt" }]);
    expect(await list("documents/topics/")).toEqual(["Taxes"]);
    expect((await dav("DELETE", "documents/all")).status).toBe(403);
  });

  test("documents of one name have names of their own, which stay", async () => {
    const upload = async (text: string) => {
      const form = new FormData();
      form.set("file", new File([text], "scan.txt"));
      const { json } = await account.person.request("/api/documents/upload", { body: form });
      return json.id as string;
    };
    await upload("first");
    const second = await upload("second");
    const name = `scan ~${second.slice(-8)}.txt`;
    expect(await list("documents/all/")).toEqual(expect.arrayContaining(["scan.txt", name]));
    expect((await dav("GET", "documents/all/scan.txt")).text).toBe("first");
    const href = `documents/all/${encodeURIComponent(name)}`;
    expect((await dav("GET", href)).text).toBe("second");
    expect((await dav("PUT", href, { body: "changed" })).status).toBe(204);
    const found = await account.person.request(`/api/documents/${second}`);
    expect(found.json).toMatchObject({ filename: "scan.txt", size_bytes: 7 });
    expect((await dav("DELETE", href)).status).toBe(204);
    expect((await dav("GET", href)).status).toBe(404);
  });
});

describe("hostile requests", () => {
  test("refuses paths that another program might read as other paths", async () => {
    for (const path of [
      "/dav/Files/%2e%2e/x",
      "/dav/Files/a%2fb",
      "/dav/Files/%00",
      "/dav/Files/..",
      "/dav/%ff",
      "/dav/Files/a%0db",
    ])
      expect([path, (await raw("PUT", path, {}, ["x"])).status]).toEqual([path, 400]);
    expect((await raw("GET", `/dav/${"a/".repeat(200)}`)).status).toBe(414);
    expect((await raw("GET", `/dav/${"a".repeat(9_000)}`)).status).toBe(414);
    expect((await raw("PUT", `/dav/Files/${"a".repeat(300)}`, {}, ["x"])).status).toBe(403);
    expect((await raw("PROPFIND", "/dav//Files//", { Depth: "0" })).status).toBe(207);
  });

  test.each([
    [
      "a document type",
      '<!DOCTYPE x [<!ENTITY a "b">]><propfind xmlns="DAV:"><allprop/></propfind>',
      400,
    ],
    ["an entity", '<propfind xmlns="DAV:"><prop>&a;</prop></propfind>', 400],
    ["broken XML", '<propfind xmlns="DAV:">', 400],
    ["an unbound prefix", "<D:propfind/>", 400],
    ["another document", "<x/>", 400],
    ["deep elements", `${"<a>".repeat(100)}${"</a>".repeat(100)}`, 413],
    [
      "many elements",
      `<propfind xmlns="DAV:"><prop>${"<a/>".repeat(10_000)}</prop></propfind>`,
      413,
    ],
    ["a large body", `<propfind xmlns="DAV:"><!--${"x".repeat(200_000)}--></propfind>`, 413],
    ["a control character", "\u0000", 400],
  ])("refuses a PROPFIND with %s", async (_what, body, status) => {
    expect((await propfind("Files/", "0", body)).status).toBe(status);
  });

  test("bounds the locks of an account's clients in size", async () => {
    const owner = LOCK.replace(">mira<", `>${"x".repeat(5_000)}<`);
    expect((await dav("LOCK", "Files/", { body: owner })).status).toBe(413);
    expect((await dav("LOCK", "", { body: LOCK })).status).toBe(403);
    expect((await dav("LOCK", "Files/", { body: LOCK, headers: { Depth: "1" } })).status).toBe(400);
    expect((await dav("LOCK", "Files/", { body: "<x/>" })).status).toBe(400);
  });
});

test("an account of the forge that is called dav keeps its pages and repositories", () => {
  const request = (method: string, url: string, headers: Readonly<Record<string, string>> = {}) =>
    isDav(new URL(url, "http://x").pathname, { method, url, headers });
  expect(request("GET", "/dav/repo", { accept: "text/html" })).toBe(false);
  expect(request("GET", "/dav/repo.git/info/refs?service=git-upload-pack")).toBe(false);
  expect(request("POST", "/dav/repo.git/git-receive-pack")).toBe(false);
  expect(
    request("GET", "/dav/repo/info/lfs/locks", { accept: "application/vnd.git-lfs+json" }),
  ).toBe(false);
  expect(request("PROPFIND", "/dav")).toBe(true);
  expect(request("GET", "/dav/Files/info/refs")).toBe(true);
  expect(
    request("GET", "/dav/Files/page.html", { accept: "text/html", authorization: "Basic x" }),
  ).toBe(true);
  expect(request("PROPFIND", "/david")).toBe(false);
});

test("a copy or move that is refused leaves what is at its destination", async () => {
  await dav("MKCOL", "documents/topics/kept");
  await dav("PUT", "documents/topics/kept/kept.txt", { body: "precious" });
  await dav("MKCOL", "Files/source");
  await dav("PUT", "Files/source.txt", { body: "x" });
  const kept = "documents/topics/kept";
  const moveTo = (method: string, from: string, destination: string) =>
    dav(method, from, { headers: { Destination: `${account.daemon.url}/dav/${destination}` } });
  const refused = [
    ["MOVE", "documents/all", kept],
    ["MOVE", "documents", "Files/source.txt"],
    ["MOVE", "Files", kept],
    ["COPY", "Files/source.txt", kept],
    ["MOVE", "Files/source.txt", kept],
    ["COPY", "Files/source", `${kept}/kept.txt`],
    ["MOVE", "Files/source", `${kept}/kept.txt`],
    ["MOVE", kept, "documents/all/kept.txt"],
  ] as const;
  for (const [method, from, destination] of refused)
    expect([method, from, (await moveTo(method, from, destination)).status]).toEqual([
      method,
      from,
      403,
    ]);
  expect((await dav("GET", `${kept}/kept.txt`)).text).toBe("precious");
  expect((await dav("GET", "Files/source.txt")).text).toBe("x");
});
