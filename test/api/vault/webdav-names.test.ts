import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type DavAccount, startDavAccount } from "../../support/vault/dav-account.ts";

let account: DavAccount;
let dav: DavAccount["dav"];
beforeAll(async () => {
  account = await startDavAccount();
  ({ dav } = account);
});
afterAll(() => account.stop());

const COMPOSED = "caf\u00e9.txt";
const DECOMPOSED = "cafe\u0301.txt";
/** With one accent in each form. */
const MIXED = "r\u00e9sume\u0301.txt";

const to = (...names: readonly string[]) => names.map(encodeURIComponent).join("/");
const text = async (href: string) => (await dav("GET", href)).text;
const hrefs = async (folder: string) =>
  [
    ...(await dav("PROPFIND", folder, { headers: { Depth: "1" } })).text.matchAll(
      /<D:response><D:href>\/dav\/([^<]*)</g,
    ),
  ]
    .map(([, href = ""]) => href)
    .slice(1);

test("two files whose names differ in their Unicode form are each reached and deleted by their own name", async () => {
  const folder = join(account.folder, "pair");
  await mkdir(folder);
  await writeFile(join(folder, COMPOSED), "composed");
  await writeFile(join(folder, DECOMPOSED), "decomposed");
  await writeFile(join(folder, MIXED), "mixed");
  const listed = await hrefs("Files/pair/");
  const contents = await Promise.all(listed.map(text));
  expect(contents.toSorted()).toEqual(["composed", "decomposed", "mixed"]);
  expect((await dav("DELETE", to("Files", "pair", DECOMPOSED))).status).toBe(204);
  expect((await readdir(folder)).toSorted()).toEqual([COMPOSED, MIXED].toSorted());
  // Each form reaches the file that is left, and replaces it in its place.
  expect((await dav("PUT", to("Files", "pair", DECOMPOSED), { body: "new" })).status).toBe(204);
  expect(await readFile(join(folder, COMPOSED), "utf8")).toBe("new");
  expect(await readdir(folder)).toHaveLength(2);
  const inside = { headers: { Destination: `/dav/${to("Files", "pair", COMPOSED, "x")}` } };
  expect((await dav("COPY", to("Files", "pair", DECOMPOSED), inside)).status).toBe(403);
});

test("a document that is uploaded with a decomposed name has the composed one, and is reached by both", async () => {
  const form = new FormData();
  form.set("file", new File(["first"], DECOMPOSED));
  const made = await account.person.request("/api/documents/upload", { body: form });
  const decomposed = to("documents", "all", DECOMPOSED);
  const [href = ""] = await hrefs("documents/all/");
  expect(decodeURIComponent(href)).toBe(`documents/all/${COMPOSED}`);
  const shown = await dav("PROPFIND", decomposed, { headers: { Depth: "0" } });
  expect(shown.text).toContain(`<D:href>/dav/${href}</D:href>`);
  expect(await text(href)).toBe("first");
  expect(await text(decomposed)).toBe("first");
  expect((await dav("PUT", decomposed, { body: "second" })).status).toBe(204);
  expect(await hrefs("documents/all/")).toEqual([href]);
  const Destination = `/dav/${to("Files", DECOMPOSED)}`;
  expect((await dav("MOVE", decomposed, { headers: { Destination } })).status).toBe(201);
  expect(await readFile(join(account.folder, COMPOSED), "utf8")).toBe("second");
  const gone = await account.person.request(`/api/documents/${made.json.id}`);
  expect(gone.status).toBe(404);
});

test("odd names come back as they are, through a connection, the documents and back", async () => {
  const names = [
    ...["trailing.", "trailing ", " leading", ".hidden", "a  b", "CON", "nul.txt", "a:b?.txt"],
    ...["%41.txt", "a&b;c+d#e.txt", "\u{1f469}\u200d\u{1f4bb}.txt", "\u202etxt.exe"],
    ...[`${"x".repeat(251)}.txt`, "\u{1f600}".repeat(63), "A.txt", "a.txt"],
  ];
  await dav("MKCOL", "Files/odd");
  await dav("MKCOL", "Files/back");
  for (const [index, name] of names.entries()) {
    const body = `bytes ${index}`;
    const put = await dav("PUT", to("Files", "odd", name), { body });
    expect([name, put.status]).toEqual([name, 201]);
    expect([name, await readFile(join(account.folder, "odd", name), "utf8")]).toEqual([name, body]);
  }
  const listed = (await hrefs("Files/odd/")).map(decodeURIComponent);
  expect(listed.toSorted()).toEqual(names.map((name) => `Files/odd/${name}`).toSorted());
  for (const [index, name] of names.entries()) {
    const document = to("documents", "all", name);
    const there = { headers: { Destination: `/dav/${document}` } };
    expect([name, (await dav("MOVE", to("Files", "odd", name), there)).status]).toEqual([
      name,
      201,
    ]);
    expect([name, await text(document)]).toEqual([name, `bytes ${index}`]);
    const back = { headers: { Destination: `/dav/${to("Files", "back", name)}` } };
    expect([name, (await dav("MOVE", document, back)).status]).toEqual([name, 201]);
  }
  expect(await readdir(join(account.folder, "odd"))).toEqual([]);
  expect((await readdir(join(account.folder, "back"))).toSorted()).toEqual(names.toSorted());
  const renamed = { headers: { Destination: `/dav/${to("Files", "back", "TRAILING.")}` } };
  expect((await dav("MOVE", to("Files", "back", "trailing."), renamed)).status).toBe(201);
  expect(await text(to("Files", "back", "TRAILING."))).toBe("bytes 0");
});

test("a file of a storage stays one under a name of Finder's files, of which none replaces it", async () => {
  const big = "x".repeat(70_000);
  const onto = (href: string) => ({ headers: { Destination: `/dav/${href}` } });
  await dav("PUT", "Files/big.txt", { body: big });
  await dav("PUT", "documents/all/._big.txt", { body: "finder" });
  expect((await dav("MOVE", "Files/big.txt", onto("documents/all/._big.txt"))).status).toBe(204);
  expect(await text("documents/all/._big.txt")).toBe(big);
  expect((await dav("COPY", "documents/all/._big.txt", onto("Files/._copy.txt"))).status).toBe(201);
  expect(await readFile(join(account.folder, "._copy.txt"), "utf8")).toBe(big);
  // What Finder writes stays out of storages wherever it goes.
  await dav("PUT", "Files/._note.txt", { body: "finder" });
  expect((await dav("MOVE", "Files/._note.txt", onto("documents/all/._note.txt"))).status).toBe(
    201,
  );
  expect(await text("documents/all/._note.txt")).toBe("finder");
  expect((await dav("GET", "Files/._note.txt")).status).toBe(404);
  expect(await hrefs("documents/all/")).toEqual(["documents/all/._big.txt"]);
});
