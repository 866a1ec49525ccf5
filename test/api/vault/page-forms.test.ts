import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  connectFolder,
  type FolderDaemon,
  startFolderDaemon,
} from "../../support/vault/local-folders.ts";
import { createPageBrowser, type PageBrowser } from "../../support/vault/page-browser.ts";
import { OTHER_STRONG, totpCode } from "../../support/vault/vault-accounts.ts";
import { createPerson } from "../../support/vault/vault-person.ts";

let folders: FolderDaemon;
let mira: PageBrowser;
let noah: PageBrowser;
let keeper: PageBrowser;

beforeAll(async () => {
  folders = await startFolderDaemon();
  const { daemon } = folders;
  [mira, noah, keeper] = [
    createPageBrowser(daemon, "198.51.100.1"),
    createPageBrowser(daemon, "198.51.100.2"),
    createPageBrowser(daemon, "198.51.100.3"),
  ];
  await mira.signIn(folders.mira.email);
  await noah.signIn(folders.noah.email);
  await keeper.signIn(daemon.first?.vault.email ?? "", { password: daemon.first?.password ?? "" });
}, 120_000);
afterAll(() => folders?.stop());

const locationOf = ({ headers }: { readonly headers: Headers }) => headers.get("location");

test("a plain form adds several documents, and shows the reason of each refused one", async () => {
  const added = await mira.sendFiles("/vault/add", [
    ["a.txt", "one"],
    ["ü ' b.txt", "two"],
    ["empty", ""],
  ]);
  expect(locationOf(added)).toBe("/vault");
  const { json } = await folders.mira.request("/api/documents?sort=name");
  expect(json.items.map(({ filename }: { filename: string }) => filename)).toEqual([
    "a.txt",
    "empty",
    "ü ' b.txt",
  ]);
  const refused = await mira.sendFiles("/vault/add", [
    ["good.txt", "x"],
    [`${"n".repeat(300)}.txt`, "y"],
  ]);
  expect(refused.status).toBe(422);
  expect(refused.text).toContain("1 of 2 files were stored");
  expect(refused.text).toContain("At most 255 characters");
  const foreign = await mira.sendFiles("/vault/add", [["no.txt", "x"]], { form_token: "x" });
  expect(foreign.status).toBe(403);
  const { total } = (await folders.mira.request("/api/documents?q=no")).json;
  expect(total).toBe(0);
});

test("a file that an app shares is taken without a token only when the browser itself sends it", async () => {
  const form = new FormData();
  form.append("file", new Blob(["shared"]), "from-phone.txt");
  const encoded = new Response(form);
  const type = encoded.headers.get("content-type") ?? "";
  // In one piece: a refusal does not wait for the rest of a body.
  const body = Buffer.from(await encoded.arrayBuffer());
  const send = (site: string) =>
    folders.daemon.request("/vault/add/shared", {
      method: "POST",
      body,
      headers: {
        Cookie: `croft_vault_session=${mira.cookie}`,
        "Content-Type": type,
        "Sec-Fetch-Site": site,
      },
    });
  expect((await send("cross-site")).status).toBe(403);
  expect((await send("none")).status).toBe(303);
  expect((await folders.mira.request("/api/documents?q=phone")).json.total).toBe(1);
});

test("a storage is connected by the form of its kind, whose secrets are in no address and are not shown again", async () => {
  const kinds = await mira.open("/vault/c/add");
  for (const title of ["WebDAV server", "S3-compatible storage", "Google Drive"])
    expect(kinds.text).toContain(title);
  expect(kinds.text).toContain("CROFT_GOOGLE_CLIENT_ID");
  expect(kinds.text).not.toContain("kind=google_drive");
  expect((await mira.open("/vault/c/add?kind=none")).status).toBe(404);
  const form = await mira.open("/vault/c/add?kind=webdav");
  expect(form.text).toMatch(/<form[^>]*action="\/vault\/c\/add"[^>]*method="post"/);
  expect(form.text).toContain('type="password"');

  const send = (fields: Readonly<Record<string, string>>, who = mira) =>
    who.submit("/vault/c/add", { display_name: "Mine", ...fields }, "/vault/c/add");
  const secret = "not-to-be-seen-again";
  const refused = await send({
    kind: "webdav",
    "setting.url": "ftp://dav.example.org/",
    "setting.username": "mira",
    "setting.password": secret,
  });
  expect(refused.status).toBe(422);
  expect(refused.text).toContain("Only addresses that begin with https:// or http://");
  expect(refused.text).toContain("ftp://dav.example.org/");
  expect(refused.text).not.toContain(secret);
  const google = await send({ kind: "google_drive" });
  expect(google.status).toBe(422);
  expect(google.text).toContain("is not set up on this server");
  expect((await send({ kind: "local_folder", "setting.root": "/etc" })).text).toContain(
    "not below your own folder",
  );

  const connected = await send({ kind: "local_folder", "setting.root": "." });
  expect(connected.status).toBe(303);
  expect(locationOf(connected)).toMatch(/^\/vault\/c\/[0-9a-f-]{36}$/);
  const { items } = (await folders.mira.request("/api/cloud/connections")).json;
  expect(items).toMatchObject([{ provider: "local_folder", display_name: "Mine" }]);
  expect((await send({ kind: "local_folder", form_token: "x" })).status).toBe(403);
  await folders.mira.request(`/api/cloud/connections/${items[0].id}`, { method: "DELETE" });
});

test("folders of a connection are listed, filled, renamed, moved and emptied by forms of their owner only", async () => {
  const { base, folder } = await connectFolder(folders, folders.mira, "disk");
  const id = base.split("/").at(-1) ?? "";
  const home = `/vault/c/${id}`;
  expect(locationOf(await mira.submit(home, { action: "mkdir", name: "Papers" }))).toBe(home);
  await mira.sendFiles(home, [
    ["a.txt", "words of a"],
    ["b.txt", "b"],
  ]);
  const taken = await mira.sendFiles(home, [["a.txt", "other"]]);
  expect(taken.text).toContain("Something of this name exists already.");
  const listed = await mira.open(home);
  for (const name of ["Papers/", "a.txt", "b.txt", "Listed"]) expect(listed.text).toContain(name);
  const item = `${home}/item?id=a.txt`;
  expect((await mira.open(item)).text).toContain("words of a");
  for (const path of [
    home,
    item,
    `${home}/raw?id=a.txt`,
    `${home}/download?id=a.txt`,
    `${home}/trash`,
  ])
    expect((await noah.open(path)).status, path).toBe(404);
  expect((await noah.submit(item, { action: "rename", name: "x" })).status).toBe(404);
  const clash = await mira.submit(item, { action: "rename", name: "b.txt" });
  expect(clash.text).toContain("Something of this name exists already.");
  expect(locationOf(await mira.submit(item, { action: "rename", name: "c.txt" }))).toBe(home);
  await mira.submit(`${home}/item?id=c.txt`, { action: "move", to: "Papers" });
  expect(await readFile(join(folder, "Papers", "c.txt"), "utf8")).toBe("words of a");
  const inside = `${home}/item?id=${encodeURIComponent("Papers/c.txt")}`;
  expect((await mira.submit(inside, { action: "delete" })).text).toContain("Delete this file?");
  await mira.submit(inside, { action: "delete", done: "yes" });
  const trash = await mira.open(`${home}/trash`);
  const trashed = /name="id" value="([^"]+)"/.exec(trash.text)?.[1] ?? "";
  await mira.submit(`${home}/trash`, { action: "restore", id: trashed });
  expect(await readFile(join(folder, "Papers", "c.txt"), "utf8")).toBe("words of a");
  expect(locationOf(await mira.submit(home, { action: "refresh" }))).toBe(home);
});

test("the account page turns the second factor on with a QR code, makes tokens and changes the password", async () => {
  const { daemon } = folders;
  const person = createPerson(daemon, "owner", "203.0.113.9");
  await person.register();
  await person.signIn();
  const browser = createPageBrowser(daemon, "198.51.100.9");
  await browser.signIn(person.email);
  const act = (fields: Readonly<Record<string, string>>) =>
    browser.submit("/vault/account", fields, "/vault/account");
  const setup = await act({ action: "totp-setup" });
  expect(setup.text).toContain("data:image/svg+xml;base64,");
  const secret = /<code>([A-Z2-7]+)<\/code>/.exec(setup.text)?.[1] ?? "";
  expect(
    (await act({ action: "totp-on", code: "000000", secret, uri: "otpauth://x" })).text,
  ).toContain("Incorrect code");
  const on = await act({ action: "totp-on", code: totpCode(secret, Date.now()), secret });
  expect(on.text).toContain("Keep these recovery codes");
  expect((await person.request("/api/auth/me")).status).toBe(401);
  expect((await browser.open("/vault")).status).toBe(200);
  const made = await act({
    action: "new-token",
    name: "backup",
    scope: "read",
    expires: "2099-01-31",
  });
  const token = /<pre[^>]*>([^<]+)<\/pre>/.exec(made.text)?.[1] ?? "";
  expect((await daemon.request("/api/auth/me", { bearer: token })).status).toBe(200);
  expect(
    (await act({ action: "password", current: "wrong", next: OTHER_STRONG, again: OTHER_STRONG }))
      .text,
  ).toContain("Current password is incorrect");
  const changed = await act({
    action: "password",
    current: person.password,
    next: OTHER_STRONG,
    again: OTHER_STRONG,
  });
  expect(locationOf(changed)).toBe("/vault/account");
  expect((await browser.open("/vault")).status).toBe(200);
  expect(locationOf(await act({ action: "end-all" }))).toBe("/vault/sign-in");
  expect(browser.cookie).toBe("");
});

test("administrators invite, limit and delete accounts, read the audit and have no documents", async () => {
  const invited = await keeper.submit("/vault/admin/users", {
    handle: "guest",
    email: "guest@example.org",
    role: "user",
  });
  const page = locationOf(invited) ?? "";
  expect(page).toMatch(/^\/vault\/admin\/users\/[\w-]+\?handle=guest$/);
  const again = await keeper.submit("/vault/admin/users", {
    handle: "guest",
    email: "guest@example.org",
    role: "user",
  });
  expect(again.text).toContain("already in use");
  await keeper.submit(page, { action: "quota", megabytes: "5" });
  expect((await keeper.open(page)).text).toContain("0 bytes of 5.0 MB are used.");
  // A field that was emptied is no limit of nothing, and a limit that was only shown stays as it is.
  for (const megabytes of ["", "1e3", "-1"])
    expect((await keeper.submit(page, { action: "quota", megabytes })).status, megabytes).toBe(422);
  await keeper.submit(page, { action: "quota", megabytes: "104.8576" });
  expect((await keeper.open(page)).text).toContain('value="104.8576"');
  const asAdmin = { handle: "guest", email: "other@example.org", role: "admin" };
  expect((await keeper.submit("/vault/admin/users", asAdmin)).text).toContain(
    '<option value="admin" selected="">',
  );
  expect((await keeper.submit(page, { action: "delete" })).text).toContain(
    "Delete the account guest?",
  );
  expect(locationOf(await keeper.submit(page, { action: "delete", done: "yes" }))).toBe(
    "/vault/admin/users",
  );
  expect((await keeper.open("/vault/admin/audit?event_type=admin")).text).toContain(
    "admin.user_created",
  );
  expect((await keeper.open("/vault/admin/audit")).text).toContain("<details><summary>Filter");
  expect((await keeper.open("/vault/admin/audit?event_type=admin")).text).toContain(
    '<details open=""><summary>Filter',
  );
  expect((await keeper.open("/vault/admin/audit?from=today")).status).toBe(422);
  expect((await keeper.open("/vault/admin/users?q=nobody-of-this-name")).text).toContain(
    "No accounts found.",
  );
  const jobs = (await keeper.open("/vault/admin/jobs")).text;
  expect(jobs).toContain('aria-label="Run now: export_audit (scheduled task)"');
  expect(jobs).not.toContain('aria-label="Delete: export_audit (scheduled task)"');
  const tested = await keeper.submit("/vault/admin/ai", {
    ...{ action: "test", provider_id: "ollama", api_key: "hush", model_name: "llama" },
    ...{ base_url: "http://127.0.0.1:1", embedding_model_name: "embedder" },
  });
  expect(tested.status).toBe(422);
  for (const typed of ["http://127.0.0.1:1", "llama", "embedder"])
    expect(tested.text).toContain(`value="${typed}"`);
  expect(tested.text).not.toContain("hush");
  const csv = await keeper.open("/vault/admin/audit/export?event_type=admin");
  expect(csv.headers.get("content-type")).toContain("text/csv");
  for (const path of ["/vault/admin", "/vault/admin/ai", "/vault/admin/jobs", "/vault/account"])
    expect((await keeper.open(path)).status, path).toBe(200);
  expect(locationOf(await keeper.open("/vault"))).toBe("/vault/admin");
  expect((await keeper.open("/vault/c")).status).toBe(403);
  for (const path of [
    "/vault/admin",
    "/vault/admin/users",
    "/vault/admin/audit/export",
    "/vault/admin/ai",
  ])
    expect((await mira.open(path)).status, path).toBe(403);
});

test("a deleted document waits in the trash, and an earlier content is restored, by forms of its owner only", async () => {
  const form = new FormData();
  form.append("filename", "versions.txt");
  form.append("file", new Blob(["first"], { type: "text/plain" }), "versions.txt");
  const { json } = await folders.mira.request("/api/documents/upload", { body: form });
  const page = `/vault/d/${json.id}/versions`;
  const replace = (content: string, replaces: string) =>
    mira.sendFiles(page, [["new.txt", content]], { action: "replace", replaces });
  expect((await replace("second", "0".repeat(64))).status).toBe(409);
  expect(locationOf(await replace("second", json.sha256))).toBe(page);
  expect((await mira.open(`${page}/1`)).text).toBe("first");
  expect((await mira.open(`${page}/2`)).text).toBe("second");
  expect(locationOf(await mira.submit(page, { action: "restore", number: "1" }))).toBe(page);
  expect((await folders.mira.request(`/api/documents/${json.id}/content`)).text).toBe("first");
  const events = await mira.open(`/vault/d/${json.id}/events`);
  for (const text of ["document.uploaded", "versions.txt"]) expect(events.text).toContain(text);
  for (const path of [page, `${page}/1`, `/vault/d/${json.id}/events`])
    expect((await noah.open(path)).status, path).toBe(404);

  await mira.submit(`/vault/d/${json.id}`, { action: "delete" });
  expect((await mira.open(`/vault/d/${json.id}`)).status).toBe(404);
  expect((await mira.open("/vault/trash")).text).toContain("versions.txt");
  expect((await noah.open("/vault/trash")).text).toContain("The trash is empty.");
  expect((await noah.submit("/vault/trash", { action: "restore", id: json.id })).status).toBe(404);
  expect(locationOf(await mira.submit("/vault/trash", { action: "restore", id: json.id }))).toBe(
    "/vault/trash",
  );
  expect((await mira.open(`/vault/d/${json.id}`)).status).toBe(200);
  await mira.submit(`/vault/d/${json.id}`, { action: "delete" });
  expect((await mira.submit("/vault/trash", { action: "empty" })).text).toContain(
    "Empty the trash?",
  );
  await mira.submit("/vault/trash", { action: "empty", done: "yes" });
  expect((await mira.open("/vault/trash")).text).toContain("The trash is empty.");
});

test("links are made for a document, for several and for files to receive, listed and revoked by their owner only", async () => {
  const ids: string[] = [];
  for (const name of ["linked-1.txt", "linked-2.txt"]) {
    const form = new FormData();
    form.append("file", new Blob([name], { type: "text/plain" }), name);
    const { json } = await folders.mira.request("/api/documents/upload", { body: form });
    ids.push(json.id);
  }
  const [first = ""] = ids;
  const made = await mira.submit(`/vault/d/${first}`, {
    action: "link",
    until: "2099-01-31",
    max_downloads: "3",
    link_password: "open it",
  });
  expect(locationOf(made)).toBe("/vault/links");
  await mira.submit("/vault/chosen", { id: first, action: "link", done: "yes", forever: "yes" });
  const received = {
    action: "receive",
    name: "For the tax",
    message: "Hello",
    link_password: "",
  };
  expect(locationOf(await mira.submit("/vault/links", received))).toBe("/vault/links");
  const { text } = await mira.open("/vault/links");
  for (const shown of [
    "linked-1.txt",
    "0 of 3 downloads",
    ", with a password",
    "Without an end",
    "2099-01-31 23:59 UTC",
    "For the tax",
    "/r/",
    "/s/",
  ])
    expect(text).toContain(shown);
  const { json } = await folders.mira.request("/api/links");
  expect(json.total).toBe(3);
  const link = { action: "revoke", id: json.items[0].id };
  expect((await noah.submit("/vault/links", link)).status).toBe(404);
  expect((await noah.open("/vault/links")).text).not.toContain("linked-1.txt");
  expect(locationOf(await mira.submit("/vault/links", link))).toBe("/vault/links");
  expect((await folders.mira.request("/api/links")).json.total).toBe(2);
});
