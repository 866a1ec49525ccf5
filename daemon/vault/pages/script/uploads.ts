/**
 * The part of the script for forms with files: several uploads at once with their progress, pause and resume. Files for
 * connected storage and large documents are sent in parts that the daemon keeps. Files that wait are kept by the browser, so that a reload or
 * a new sign-in goes on with them.
 */
export const UPLOADS = String.raw`
const PART_BYTES = 8 * 1024 * 1024;
const AT_ONCE = 3;
const RETRY_MS = 5000;
const form = document.querySelector("form.upload");

/** SHA-256 of bytes that come in parts (FIPS 180-4): the browser's own needs all of them in memory, and https. */
class Sha256 {
  static roots = (() => {
    const primes = [];
    for (let n = 2; primes.length < 64; n += 1) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
    const part = (value) => ((value - Math.floor(value)) * 2 ** 32) | 0;
    return { k: Int32Array.from(primes, (n) => part(Math.cbrt(n))), h: primes.slice(0, 8).map((n) => part(Math.sqrt(n))) };
  })();
  hash = Int32Array.from(Sha256.roots.h);
  rest = new Uint8Array(0);
  size = 0;
  add(bytes) {
    this.size += bytes.length;
    const data = new Uint8Array(this.rest.length + bytes.length);
    data.set(this.rest);
    data.set(bytes, this.rest.length);
    const whole = data.length - (data.length % 64);
    this.blocks(new DataView(data.buffer, 0, whole));
    this.rest = data.slice(whole);
  }
  /** Written out, without arrays and functions for a block: that takes a quarter less time. */
  blocks(view) {
    const w = new Int32Array(64);
    const { k } = Sha256.roots;
    const { hash } = this;
    const { byteLength } = view;
    for (let at = 0; at < byteLength; at += 64) {
      let a = hash[0], b = hash[1], c = hash[2], d = hash[3], e = hash[4], f = hash[5], g = hash[6], h = hash[7];
      for (let i = 0; i < 64; i += 1) {
        if (i < 16) w[i] = view.getInt32(at + i * 4);
        else {
          const x = w[i - 15], y = w[i - 2];
          w[i] = w[i - 16] + w[i - 7] + (((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3)) + (((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10));
        }
        const one = (h + (((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))) + (g ^ (e & (f ^ g))) + k[i] + w[i]) | 0;
        const two = ((((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))) + ((a & b) | (c & (a | b)))) | 0;
        h = g; g = f; f = e; e = (d + one) | 0; d = c; c = b; b = a; a = (one + two) | 0;
      }
      hash[0] += a; hash[1] += b; hash[2] += c; hash[3] += d; hash[4] += e; hash[5] += f; hash[6] += g; hash[7] += h;
    }
  }
  end() {
    const { size } = this;
    const padding = new Uint8Array(64 - ((size + 8) % 64) + 8);
    padding[0] = 128;
    const view = new DataView(padding.buffer);
    view.setBigUint64(padding.length - 8, BigInt(size) * 8n);
    this.add(padding);
    return [...this.hash].map((value) => (value >>> 0).toString(16).padStart(8, "0")).join("");
  }
}

/** Files that wait, kept by the browser. It may refuse: then a reload forgets them. */
const kept = {
  open() {
    return (this.opening ??= new Promise((resolve, reject) => {
      const request = indexedDB.open("croft-uploads", 1);
      request.onupgradeneeded = () => request.result.createObjectStore("files", { autoIncrement: true });
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    }));
  },
  async run(mode, work) {
    const store = (await this.open()).transaction("files", mode).objectStore("files");
    return new Promise((resolve, reject) => {
      const request = work(store);
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  },
  put: (entry) => kept.run("readwrite", (store) => store.add(entry)).catch(() => undefined),
  remove: (key) => (key === undefined ? undefined : kept.run("readwrite", (store) => store.delete(key)).catch(() => undefined)),
  async list() {
    try {
      const [keys, entries] = await Promise.all([
        kept.run("readonly", (store) => store.getAllKeys()),
        kept.run("readonly", (store) => store.getAll()),
      ]);
      return entries.map((entry, at) => ({ ...entry, key: keys[at] }));
    } catch {
      return [];
    }
  },
};

/** Reads dropped files, and those in dropped folders. */
const readEntry = async (entry, prefix) => {
  if (entry.isFile)
    return [{ file: await new Promise((resolve, reject) => entry.file(resolve, reject)), path: prefix + entry.name }];
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (batch.length === 0) return found;
    for (const each of batch) found.push(...(await readEntry(each, prefix + entry.name + "/")));
  }
};
const readDropped = async ({ items, files }) => {
  // The items are gone after the first wait.
  const entries = [...items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const plain = [...files].map((file) => ({ file, path: file.name }));
  if (entries.length === 0) return plain;
  const found = [];
  for (const entry of entries) found.push(...(await readEntry(entry, "")));
  return found;
};

class Refused extends Error {}
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const reasons = { name_collision: "Something of this name exists already.", provider_unsupported: "This storage cannot do that." };
const reasonOf = ({ detail, reason, kind }, status) =>
  Array.isArray(detail) ? detail.map(({ msg }) => msg).join(". ") : (detail ?? reasons[reason] ?? reason ?? kind ?? "The server answered " + status + ".");

if (form !== null) {
  const { upload: target, folder } = form.dataset;
  const account = document.querySelector('meta[name="account"]')?.content ?? "";
  const input = form.querySelector("input[type=file]");
  const list = element("ul", { className: "list uploads" });
  const total = element("progress", { max: 1, value: 0, ariaLabel: "All files" });
  const summary = element("span", { className: "quiet", role: "status" });
  const pause = element("button", { type: "button" }, "Pause");
  const folders = element("input", { type: "file", webkitdirectory: true, multiple: true, hidden: true });
  const pickFolder = element("button", { type: "button" }, "Choose a folder");
  const done = element("a", { href: base + "/vault", hidden: true }, "See your documents");
  const bar = element("div", { className: "actions", hidden: true }, total, summary, pause, done);
  const drop = element("p", { className: "drop" }, "Drop files or folders anywhere on this page.");
  form.after(drop, bar, list);
  form.lastElementChild.append(" ", pickFolder, folders);
  form.querySelector("button.primary").hidden = true;
  input.required = false;

  const queue = [];
  const tasks = [];
  let running = 0;
  let isPaused = false;

  const show = () => {
    const size = tasks.reduce((sum, task) => sum + task.file.size, 0);
    const sent = tasks.reduce((sum, task) => sum + task.sent, 0);
    const count = (state) => tasks.filter((task) => task.state === state).length;
    total.value = size === 0 ? count("done") / Math.max(1, tasks.length) : sent / size;
    const failed = count("refused");
    summary.textContent = count("done") + " of " + tasks.length + " uploaded" + (failed === 0 ? "" : ", " + failed + " refused");
    pause.textContent = isPaused ? "Resume" : "Pause";
    pause.hidden = queue.length === 0 && running === 0;
    done.hidden = !pause.hidden || target !== "documents" || count("done") === 0;
  };
  const report = (task, state, text = "") => {
    task.state = state;
    task.row.dataset.state = state;
    task.note.textContent = text;
    if (state === "done") task.sent = task.file.size;
    task.bar.value = task.file.size === 0 ? (state === "done" ? 1 : 0) : task.sent / task.file.size;
    show();
  };

  const add = (files) => {
    bar.hidden = false;
    for (const { file, path, key } of files) {
      const task = { file, path, sent: 0, state: "waiting", note: element("span", { className: "quiet" }), bar: element("progress", { max: 1, value: 0, ariaLabel: file.name }) };
      task.row = element("li", {}, element("bdi", {}, path), " ", task.bar, " ", task.note);
      tasks.push(task);
      queue.push(task);
      list.append(task.row);
      task.key = key;
      task.kept = key !== undefined ? Promise.resolve(key) : kept.put({ file, path, target, folder, account }).then((made) => (task.key = made));
    }
    show();
    start();
  };

  const start = () => {
    while (!isPaused && running < AT_ONCE && queue.length > 0) {
      running += 1;
      void run(queue.shift()).finally(() => {
        running -= 1;
        show();
        start();
      });
    }
  };

  const run = async (task) => {
    for (;;) {
      if (isPaused) {
        queue.unshift(task);
        return;
      }
      try {
        report(task, "sending");
        // A small document is one request, which is sent again after a failure.
        await (target === "documents" && task.file.size <= PART_BYTES ? sendWhole(task) : sendParts(task));
        report(task, "done", "uploaded");
        await kept.remove(await task.kept);
        return;
      } catch (error) {
        if (error instanceof Refused) {
          report(task, "refused", error.message);
          await kept.remove(await task.kept);
          return;
        }
        report(task, "waiting", isPaused && error.name !== "SignedOut" ? "paused" : error.message);
        if (error.name === "SignedOut") isPaused = true;
        if (!isPaused) await sleep(error.waitMs ?? RETRY_MS);
      }
    }
  };

  /** Sends one request with its progress, and returns the body of a success. */
  const send = (task, method, path, body, headers = {}, before = 0) =>
    new Promise((resolve, reject) => {
      // It was paused while a part was hashed.
      if (isPaused) throw new Error("paused");
      const request = new XMLHttpRequest();
      request.open(method, base + "/vault/api" + path);
      for (const [name, value] of Object.entries({ "X-Form-Token": formToken, ...headers })) request.setRequestHeader(name, value);
      request.responseType = "json";
      request.upload.addEventListener("progress", ({ loaded }) => {
        if (body instanceof FormData || body instanceof Blob) task.sent = Math.min(task.file.size, before + loaded);
        report(task, "sending");
      });
      const fail = (text, extra = {}) => reject(Object.assign(new Error(text), extra));
      request.addEventListener("error", () => fail("No connection; it goes on by itself."));
      request.addEventListener("abort", () => fail("paused"));
      request.addEventListener("load", () => {
        const answer = request.response ?? {};
        const { status } = request;
        const wait = Number(request.getResponseHeader("Retry-After")) * 1000 || RETRY_MS;
        if (status === 401 && answer.kind === undefined) fail("Sign in again, then open this page: the files wait.", { name: "SignedOut" });
        // A proxy answers for a server that restarts; the server's own answers are JSON.
        else if (status >= 500 && request.response === null) fail("The server does not answer; it goes on by itself.");
        else if (status === 429 || status === 503) fail("The server asks to wait.", { waitMs: wait });
        // Another page of the browser sends the same file, or the answer to the last part was lost.
        else if (answer.reason === "offset_mismatch") fail("Some of it has arrived already; it goes on from there.", { waitMs: 1000 });
        else if (status >= 400 || answer.kind === "conflict") reject(new Refused(reasonOf(answer, status)));
        else resolve(answer);
      });
      task.abort = () => request.abort();
      request.send(body);
    });
  const post = (task, path, json) => send(task, "POST", path, JSON.stringify(json), { "Content-Type": "application/json" });

  const sendWhole = (task) => {
    const data = new FormData();
    data.append("filename", task.file.name);
    data.append("file", task.file, task.file.name);
    return send(task, "POST", "/documents/upload", data);
  };

  const made = new Map([["", Promise.resolve(folder)]]);
  /** Returns the id of the folder for a path below the page's folder, which is made if it is missing. */
  const folderOf = (task, path) => {
    const known = made.get(path);
    if (known !== undefined) return known;
    const at = path.lastIndexOf("/");
    const making = (async () => {
      const parent_ref = await folderOf(task, path.slice(0, Math.max(at, 0)));
      // One folder, so the lines of the answer are one.
      const line = await post(task, "/cloud/connections/" + target + "/folders/batch", { folders: [{ parent_ref, name: path.slice(at + 1) }] });
      if (line.provider_item_id === undefined) throw new Refused(reasonOf(line, line.status));
      return line.provider_item_id;
    })();
    made.set(path, making);
    making.catch(() => made.delete(path));
    return making;
  };

  const sendParts = async (task) => {
    const { file, path } = task;
    const uploads = target === "documents" ? "/documents/upload-sessions" : "/cloud/connections/" + target + "/uploads";
    const fingerprint = [file.size, file.lastModified, path.slice(-120)].join(" ");
    const described = { content_type: file.type || null, size: file.size, fingerprint };
    const begun = await post(task, uploads, target === "documents"
      ? { filename: file.name, ...described }
      : { parent_ref: await folderOf(task, path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : ""), name: file.name, ...described });
    const hash = new Sha256();
    let { offset } = begun;
    const read = (at) => {
      const reading = at < file.size ? file.slice(at, Math.min(file.size, at + PART_BYTES)).arrayBuffer() : undefined;
      // Its error is thrown where it is awaited, which may be later.
      reading?.catch(() => undefined);
      return reading;
    };
    let reading = read(0);
    for (let at = 0; at < file.size; at += PART_BYTES) {
      const bytes = new Uint8Array(await reading);
      // The next part is read, and this one hashed, while it is sent.
      reading = read(at + PART_BYTES);
      const end = at + bytes.length;
      const headers = { "Content-Type": "application/octet-stream", "Upload-Offset": String(offset) };
      const sending = end <= offset ? undefined : send(task, "PATCH", uploads + "/" + begun.upload_id, file.slice(offset, end), headers, offset);
      hash.add(bytes);
      if (sending !== undefined) ({ offset } = await sending);
    }
    await post(task, uploads + "/" + begun.upload_id + "/complete", { sha256: hash.end() });
  };

  const filesOf = (files) => [...files].map((file) => ({ file, path: file.webkitRelativePath || file.name }));

  input.addEventListener("change", () => {
    const files = filesOf(input.files);
    input.value = "";
    add(files);
  });
  folders.addEventListener("change", () => {
    const files = filesOf(folders.files);
    folders.value = "";
    add(files);
  });
  pickFolder.addEventListener("click", () => folders.click());
  form.addEventListener("submit", (event) => event.preventDefault());
  pause.addEventListener("click", () => {
    isPaused = !isPaused;
    if (isPaused) for (const task of tasks) if (task.state === "sending") task.abort?.();
    show();
    start();
  });
  addEventListener("online", start);
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", async (event) => {
    event.preventDefault();
    add(await readDropped(event.dataTransfer));
  });
  addEventListener("beforeunload", (event) => {
    if (tasks.some(({ state, key }) => (state === "sending" || state === "waiting") && key === undefined)) event.preventDefault();
  });
  const resume = async () => {
    const waiting = await kept.list();
    const own = new Set(await Promise.all(tasks.map((task) => task.kept)));
    const mine = waiting.filter((each) => each.target === target && each.folder === folder && each.account === account && !own.has(each.key));
    if (mine.length > 0) add(mine);
  };
  // One tab goes on with the files that wait, until it is closed. Browsers have locks where they trust the connection.
  if (navigator.locks === undefined) void resume();
  else void navigator.locks.request(["croft-uploads", account, target, folder].join(" "), () => resume().then(() => new Promise(() => {})));
}

// A file that is dropped on the list of documents, be it empty, opens the page that uploads it.
const dropPlace = form === null ? document.querySelector("[data-drop]") : null;
if (dropPlace !== null) {
  const note = element("p", { className: "quiet", role: "status" });
  dropPlace.after(note);
  for (const hint of document.querySelectorAll("[data-drop-hint]")) hint.hidden = false;
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", async (event) => {
    event.preventDefault();
    const account = document.querySelector('meta[name="account"]')?.content ?? "";
    const keys = [];
    try {
      const found = await readDropped(event.dataTransfer);
      if (found.length === 0) {
        note.textContent = "These are no files. Drop files or folders here, or press Add.";
        return;
      }
      note.textContent = "Taking " + found.length + (found.length === 1 ? " file …" : " files …");
      for (const { file, path } of found) keys.push(await kept.put({ file, path, target: "documents", folder: "", account }));
      if (keys.includes(undefined)) throw new Error("the browser keeps no files");
      location.href = base + "/vault/add";
    } catch {
      // Otherwise they would be sent twice.
      for (const key of keys) await kept.remove(key);
      note.textContent = "Your browser cannot take these files from here. Press Add, and drop them there.";
    }
  });
}
`;
