import { execFileSync } from "node:child_process";
import {
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { pack } from "tar-stream";
import { describe, expect, test } from "vitest";
import { createFileNames } from "../../../../../cli/support/file-names.ts";
import { run } from "../../../../../cli/main.ts";
import {
  download,
  type FakeItem,
  type FakeStorage,
  tagOf,
  toItems,
} from "../../../support/fake-storage.ts";
import { inWork as inWorkOf, type InWork } from "../../../support/in-work.ts";
import { fakeSystem, runCli, toRan } from "../../../support/run-cli.ts";

/** Runs `vault item download …` against these items. */
function inWork(
  items: FakeItem[],
  use: (at: InWork & { readonly requestedIds: () => readonly string[] }) => Promise<void>,
  pageSize?: number,
): Promise<void> {
  return inWorkOf("download", { items, pageSize }, (at) =>
    use({
      ...at,
      requestedIds: () =>
        at.requests.flatMap(({ path, ...request }) => {
          if (path.endsWith("/batch-download"))
            return (request.json() as { item_ids: string[] }).item_ids;
          return path.endsWith("/download") ? [path] : [];
        }),
    }),
  );
}

/** Everything below a folder: files with their text, folders with a slash. */
async function treeOf(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const found = await Promise.all(
    entries.map(async (entry) => {
      const path = join(entry.parentPath, entry.name);
      const name = path.slice(folder.length + 1);
      if (entry.isDirectory()) return [`${name}/`, ""];
      return [name, entry.isSymbolicLink() ? "(link)" : await readFile(path, "utf8")];
    }),
  );
  return Object.fromEntries(found.sort(([one = ""], [other = ""]) => (one < other ? -1 : 1)));
}

const papers = {
  "docs/": "",
  "docs/deep/": "",
  "docs/deep/ü 🎉.txt": "deep",
  "docs/empty/": "",
  "docs/a.txt": "a",
  "docs/none.txt": "",
  "top.txt": "top",
};

describe("a folder", () => {
  test("comes with everything in it under its own name, and a missing target is made", async () => {
    await inWork(toItems(papers), async ({ work, go }) => {
      const ran = await go("home:/docs -r -o new/place --json");
      expect(ran.json()).toEqual(
        [
          ["docs/deep/ü 🎉.txt", 4],
          ["docs/a.txt", 1],
          ["docs/none.txt", 0],
        ].map(([path, size]) => ({
          item: `home:/${path}`,
          path: join(work, "new/place", String(path)),
          size,
          skipped: null,
          error: null,
        })),
      );
      expect(await treeOf(join(work, "new/place"))).toEqual({
        "docs/": "",
        "docs/a.txt": "a",
        "docs/deep/": "",
        "docs/deep/ü 🎉.txt": "deep",
        "docs/empty/": "",
        "docs/none.txt": "",
      });
    });
  });

  test("a whole connection is downloaded directly into the target, page by page", async () => {
    await inWork(
      toItems(papers),
      async ({ work, go }) => {
        expect((await go("home:/ --recursive --output to")).code).toBe(0);
        expect(await treeOf(join(work, "to"))).toEqual(
          Object.fromEntries(
            Object.entries(papers).sort(([one], [other]) => (one < other ? -1 : 1)),
          ),
        );
      },
      2,
    );
  });

  test("a folder without --recursive is a usage error that names the flag", async () => {
    await inWork(toItems(papers), async ({ go }) => {
      for (const word of ["home:/docs", "home:/", "home:docs"]) {
        const ran = await go(`${word} --json`);
        expect(ran.error()).toMatchObject({
          exit_code: 2,
          message: `${word} is a folder`,
          hint: "--recursive downloads it with everything in it",
        });
      }
      expect((await go("home:/docs -o - -r")).err).toContain("--output - takes no folder");
    });
  });

  test("a folder does not continue forever when it contains itself", async () => {
    const items = [...toItems(papers), { id: "docs", parent: "docs/deep", name: "again" }];
    await inWork(items, async ({ work, home, go }) => {
      const ran = await go("home:/docs -r --json");
      expect(ran.code).toBe(14);
      expect(ran.out).toContain("home:/docs/deep/again contains itself");
      const listed = await runCli(["vault", "item", "tree", "home:/", "--json"], { home });
      expect(listed.error()).toMatchObject({
        code: "unsupported",
        message: "docs/deep/again/ contains itself",
      });
      expect(Object.keys(await treeOf(work))).toContain("docs/deep/ü 🎉.txt");
    });
  });

  test("a folder that the provider cannot list is reported, and the rest is downloaded", async () => {
    await inWork(toItems(papers), async ({ go, storage }) => {
      storage.override = ({ path }) =>
        path.includes("parent_ref=docs%2Fdeep")
          ? {
              body: {
                refresh_state: "failed",
                error_code: "offline",
                error_message: "The storage cannot be reached at the moment.",
                items: [],
                next_cursor: null,
              },
            }
          : undefined;
      const ran = await go("home:/docs -r --json");
      expect(ran.code).toBe(14);
      expect(ran.json()).toMatchObject([
        { item: "home:/docs/deep/", error: { code: "provider_offline" } },
        { item: "home:/docs/a.txt", error: null },
        { item: "home:/docs/none.txt", error: null },
      ]);
    });
  });
});

describe("names from the server", () => {
  const hostile = [
    "..",
    "../../out.txt",
    "/etc/passwd",
    "a\\..\\b",
    "n\0l",
    ".",
    "x",
    "x",
    "x (1)",
  ];
  const items = hostile.map((name, index) => ({
    id: `i${index}`,
    parent: "",
    name,
    bytes: Buffer.from(String(index)),
  }));

  test("never leave the target", async () => {
    await inWork(items, async ({ home, work, go }) => {
      const before = await readdir(home);
      expect((await go("home:/ -r -o to")).code).toBe(0);
      expect(await readdir(home)).toEqual(before);
      expect(await readdir(work)).toEqual(["to"]);
      expect(await treeOf(join(work, "to"))).toEqual({
        _: "0",
        ".._.._out.txt": "1",
        _etc_passwd: "2",
        "a\\..\\b": "3",
        n_l: "4",
        "_ (1)": "5",
        x: "6",
        "x (2)": "7",
        "x (1)": "8",
      });
    });
  });

  test("names from the server are made harmless for Windows there", () => {
    expect(createFileNames("win32").takeAll([...hostile, "X", "aux"])).toEqual([
      ..."_|.._.._out.txt|_etc_passwd|a_.._b|n_l|_ (1)|x|x (2)|x (1)|X (3)|_aux".split("|"),
    ]);
  });

  test("names from the server that are a folder and a file at once both come", async () => {
    const both = [...toItems({ "a/": "", "a/in.txt": "in" }), ...toItems({ b: "file" })].map(
      (one) => (one.id === "b" ? { ...one, name: "a" } : one),
    );
    await inWork(both, async ({ work, go }) => {
      expect((await go("home:/ -r")).code).toBe(0);
      expect(await treeOf(work)).toEqual({ "a/": "", "a (1)": "file", "a/in.txt": "in" });
    });
  });

  test("names that are equal only on some platforms are distinct on the others", () => {
    const names = ["Ä.txt", "ä.txt", "A\u0308.txt", "Ä.txt"];
    expect(createFileNames("linux").takeAll(names)).toEqual([
      "Ä.txt",
      "ä.txt",
      "A\u0308.txt",
      "Ä (1).txt",
    ]);
    expect(createFileNames("darwin").takeAll(names)).toEqual([
      "Ä.txt",
      "ä (1).txt",
      "A\u0308 (2).txt",
      "Ä (3).txt",
    ]);
  });

  test("items with equal local names do not replace each other, even with --force", async () => {
    await inWork(toItems({ "x/": "", "y/": "", "x/f": "1", "y/f": "2" }), async ({ work, go }) => {
      expect((await go("home:/x/f home:/y/f --force")).code).toBe(0);
      expect(await treeOf(work)).toEqual({ f: "1", "f (1)": "2" });
    });
  });
});

describe("links in the target", () => {
  test("links in the target to a folder elsewhere are not followed", async () => {
    await inWork(toItems(papers), async ({ home, work, go }) => {
      await mkdir(join(home, "outside"));
      await mkdir(join(work, "docs"));
      await symlink(join(home, "outside"), join(work, "docs", "deep"));
      const ran = await go("home:/docs -r --force --json");
      expect(ran.code).toBe(14);
      expect(ran.json()).toMatchObject([
        {
          item: "home:/docs/deep/",
          error: {
            code: "conflict",
            message: `${join(work, "docs/deep")} is a link, which is not followed`,
          },
        },
        { item: "home:/docs/a.txt", error: null },
        { item: "home:/docs/none.txt", error: null },
      ]);
      expect(await readdir(join(home, "outside"))).toEqual([]);
    });
  });

  test("links in the target to a file elsewhere are refused, and with --force replaced themselves", async () => {
    await inWork(toItems(papers), async ({ home, work, go }) => {
      await writeFile(join(home, "secret"), "mine");
      for (const target of ["../secret", "../nowhere"]) {
        await symlink(target, join(work, "top.txt"));
        expect((await go("home:/top.txt --json")).error()).toMatchObject({ code: "conflict" });
        expect(await readlink(join(work, "top.txt"))).toBe(target);
        expect((await go("home:/top.txt --force")).code).toBe(0);
        const written = join(work, "top.txt");
        expect((await lstat(written)).isFile()).toBe(true);
        expect(await readFile(written, "utf8")).toBe("top");
        await rm(written);
      }
      expect(await readFile(join(home, "secret"), "utf8")).toBe("mine");
      expect(await readdir(home)).not.toContain("nowhere");
    });
  });

  test("a link instead of a partial file is not followed", async () => {
    const bytes = Buffer.alloc(2_000_000, "z");
    await inWork([{ id: "f", parent: "", name: "f", bytes }], async ({ home, work, go }) => {
      const part = `f.${tagOf(bytes).slice(1, -1)}.croft-part`;
      await symlink(join(home, "stolen"), join(work, part));
      expect((await go("home:/f")).code).toBe(0);
      expect((await lstat(join(work, "f"))).isFile()).toBe(true);
      expect(await readdir(home)).not.toContain("stolen");
    });
  });
});

describe("several transfers", () => {
  const many = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [`f${index}`, `${index}`]),
  );

  test.each([1, 3, 4])(
    "several transfers are at most %i at one time, and the results keep the order",
    async (most) => {
      // Smaller files would come together in one request.
      const large = Buffer.alloc(300_000, "x");
      const files = Object.keys(many).map((name) => [name, large] as const);
      await inWork(toItems(Object.fromEntries(files)), async ({ go, storage }) => {
        // Answers no request before the maximum number of concurrent ones has arrived.
        const isFull = Promise.withResolvers<void>();
        let come = 0;
        storage.override = async (_, key) => {
          if (!key.endsWith("/download")) return undefined;
          come += 1;
          if (come === most) isFull.resolve();
          await isFull.promise;
          return undefined;
        };
        const ran = await go(
          `home:/ -r --json=item ${most === 4 ? "" : `--transfers ${most}`}`.trim(),
        );
        expect(ran.json()).toEqual(Object.keys(many).map((name) => ({ item: `home:/${name}` })));
        expect(storage.busiest).toBe(most);
      });
    },
  );

  test.each(["0", "33", "x", "-1"])("--transfers %s is refused", async (count) => {
    await inWork([], async ({ go }) => {
      const ran = await go(`home:/ --transfers=${count} --json`);
      expect(ran.error()["message"]).toContain("--transfers takes a number from 1 to 32");
    });
  });

  test("several transfers continue after one that fails, and exit 14", async () => {
    await inWork(toItems(many), async ({ work, go, storage }) => {
      storage.override = (_, key) =>
        key.endsWith("/f3/download")
          ? { status: 503, body: { detail: "The provider is ill" } }
          : undefined;
      const ran = await go("home:/ -r --json");
      expect(ran.code).toBe(14);
      expect(ran.error()).toMatchObject({ message: "1 of 30 were not downloaded" });
      const results = ran.json() as { item: string; error: { code: string } | null }[];
      expect(results.filter(({ error }) => error !== null)).toMatchObject([
        { item: "home:/f3", error: { code: "provider_failed" } },
      ]);
      expect(await readdir(work)).toHaveLength(29);
    });
  });

  test("wait together at the daemon's limit, and then all complete", async () => {
    await inWork(toItems(many), async ({ go, storage, work }) => {
      let left = 10;
      let refused = 0;
      storage.override = (_, key) => {
        if (!key.endsWith("/download") || left-- > 0) return undefined;
        refused += 1;
        // The window ends when all have been answered.
        if (refused % 4 === 0) left = 10;
        return { status: 429, headers: { "Retry-After": "30" }, body: { detail: "Too many" } };
      };
      const ran = await go("home:/ -r --progress json");
      expect(ran.code).toBe(0);
      expect(ran.err).toContain('{"event":"waiting","seconds":30}');
      expect(await readdir(work)).toHaveLength(30);
    });
  });

  test("a single download does not wait: it fails with the time of the next attempt", async () => {
    await inWork(toItems(many), async ({ go, storage }) => {
      storage.override = (_, key) =>
        key.endsWith("/download")
          ? { status: 429, headers: { "Retry-After": "30" }, body: { detail: "Too many" } }
          : undefined;
      expect((await go("home:/f1 --json")).error()).toMatchObject({
        exit_code: 9,
        retry_after_s: 30,
      });
    });
  });

  test("several transfers do not ask a connection again that has to be reconnected", async () => {
    await inWork(toItems(many), async ({ go, storage, requests }) => {
      storage.override = (_, key) =>
        key.endsWith("/download") ? { status: 401, body: { detail: "Reconnect this" } } : undefined;
      const ran = await go("home:/ -r --json");
      expect(ran.error()).toMatchObject({ code: "reauth_required", exit_code: 13 });
      expect(requests.filter(({ path }) => path.endsWith("/batch-download")).length).toBeLessThan(
        5,
      );
    });
  });

  test("small files come together in few requests, and damaged ones are fetched again", async () => {
    await inWork(toItems(many), async ({ go, storage, work, requests }) => {
      const archive = pack();
      archive.entry({ name: "f0", pax: { "CROFT.item_id": "f0", "CROFT.sha256": "00" } }, "0");
      archive.finalize();
      const damaged = Buffer.concat((await Array.fromAsync(archive)) as Buffer[]);
      let count = 0;
      storage.override = (_, key) =>
        key.endsWith("/batch-download") && count++ === 0 ? { body: damaged } : undefined;
      expect((await go("home:/ -r")).code).toBe(0);
      expect(await readFile(join(work, "f0"), "utf8")).toBe("0");
      expect(await readdir(work)).toHaveLength(30);
      const fetched = requests.filter(({ path }) => path.endsWith("/batch-download"));
      expect(fetched.length).toBeLessThan(5);
    });
  });

  test("end with the daemon, without asking for every other file", async () => {
    await inWork(toItems(many), async ({ go, requestedIds }) => {
      const ran = await go("home:/ -r --json --url http://127.0.0.1:9");
      expect(ran.error()).toMatchObject({ code: "daemon_unreachable" });
      expect(requestedIds()).toEqual([]);
    });
  });

  test("sum up on a terminal, and list the failures", async () => {
    await inWork(toItems(many), async ({ go, storage }) => {
      storage.override = (_, key) =>
        key.endsWith("/f3/download")
          ? { status: 503, body: { detail: "The provider is ill" } }
          : undefined;
      const ran = await go("home:/ -r", { terminal: true });
      expect(ran.out.trim().split("\n")).toHaveLength(2);
      expect(ran.out).toMatch(/home:\/f3 .*The provider is ill/);
      expect(ran.err).toContain("Downloaded 29 files, 49 B.");
    });
  });
});

describe("a download that is stopped in the middle", () => {
  const bytes = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => index % 251));
  const big = { id: "big.bin", parent: "", name: "big.bin", bytes };
  const half = bytes.subarray(0, 2_000_000);

  /** Sends the first two thirds and then nothing; stops the command when they have arrived. */
  async function stopHalfway(
    { home, work, storage }: { home: string; work: string; storage: FakeStorage },
    line = "home:/big.bin",
  ) {
    storage.override = (_, key) =>
      key.endsWith("big.bin/download")
        ? {
            headers: { ETag: tagOf(bytes), "Content-Length": String(bytes.byteLength) },
            stream: (write) => write(half as unknown as string),
          }
        : undefined;
    const system = fakeSystem({ home, workingDirectory: work });
    const running = run(["vault", "item", "download", ...line.split(" ")], system);
    for (;;) {
      const [name] = (await readdir(work)).filter((one) => one.endsWith(".croft-part"));
      const size = name === undefined ? 0 : (await lstat(join(work, name))).size;
      if (size === half.byteLength) break;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    system.stops.send("SIGINT");
    const ran = toRan(await running, system);
    storage.override = () => undefined;
    return ran;
  }

  const partName = `big.bin.${tagOf(bytes).slice(1, -1)}.croft-part`;

  test("keeps the received part of a file, and the same command resumes the download", async () => {
    await inWork([big], async (at) => {
      const ran = await stopHalfway(at);
      expect(ran).toMatchObject({ code: 130, out: "" });
      expect(ran.err).toContain("the same command resumes the download");
      expect(await readdir(at.work)).toEqual([partName]);
      const ranges: unknown[] = [];
      at.storage.override = ({ headers }, key) => {
        if (key.endsWith("/download")) ranges.push([headers.range, headers["if-range"]]);
        return undefined;
      };
      expect((await at.go("home:/big.bin --json")).json()).toMatchObject([{ size: 3_000_000 }]);
      expect(ranges).toEqual([["bytes=2000000-", tagOf(bytes)]]);
      expect(await readdir(at.work)).toEqual(["big.bin"]);
      expect((await readFile(join(at.work, "big.bin"))).equals(bytes)).toBe(true);
    });
  });

  test("a partial download restarts when the item has changed: two versions are never joined", async () => {
    await inWork([big], async (at) => {
      await stopHalfway(at);
      const changed = Buffer.alloc(3_000_000, "n");
      at.storage.items[0] = { ...big, bytes: changed };
      expect((await at.go("home:/big.bin")).code).toBe(0);
      expect(await readdir(at.work)).toEqual(["big.bin"]);
      expect((await readFile(join(at.work, "big.bin"))).equals(changed)).toBe(true);
    });
  });

  test("two downloads of one file at once are both whole, and leave no part", async () => {
    await inWork([big], async (at) => {
      await writeFile(join(at.work, partName), half);
      const ran = await Promise.all([at.go("home:/big.bin --json"), at.go("home:/big.bin --json")]);
      expect(ran.map(({ code }) => code)).toEqual([0, 0]);
      expect(await readdir(at.work)).toEqual(["big.bin"]);
      expect((await readFile(join(at.work, "big.bin"))).equals(bytes)).toBe(true);
    });
  });

  test("a part of a killed process is resumed, that of a running one is not", async () => {
    await inWork([big], async (at) => {
      const owned = (pid: number) => partName.replace(".croft-part", `~${pid}_0badcafe.croft-part`);
      await writeFile(join(at.work, owned(77)), half);
      await writeFile(join(at.work, owned(78)), half);
      // Of an earlier version, and of bytes without a tag.
      const useless = [
        "big.bin.earlier-version~77_0badcafe.croft-part",
        "big.bin.~77_0badcafe.croft-part",
      ];
      for (const name of useless) {
        await writeFile(join(at.work, name), half);
        await utimes(join(at.work, name), 1, 1);
      }
      const ranges: unknown[] = [];
      at.storage.override = ({ headers }, key) => {
        if (key.endsWith("/download")) ranges.push(headers.range);
        return undefined;
      };
      const isProcessAlive = (pid: number) => pid !== 77;
      expect((await at.go("home:/big.bin --json", { isProcessAlive })).code).toBe(0);
      expect(ranges).toEqual(["bytes=2000000-"]);
      expect((await readdir(at.work)).toSorted()).toEqual(["big.bin", owned(78)]);
    });
  });

  test("a part that is as long as the file is not an obstacle", async () => {
    await inWork([big], async (at) => {
      await writeFile(join(at.work, partName), bytes);
      expect((await at.go("home:/big.bin")).code).toBe(0);
      expect(await readdir(at.work)).toEqual(["big.bin"]);
    });
  });

  test("an answer for another part of the file is not used", async () => {
    await inWork([big], async (at) => {
      await writeFile(join(at.work, partName), half);
      at.storage.override = ({ headers }, key) =>
        key.endsWith("/download") && headers.range !== undefined
          ? {
              status: 206,
              body: bytes.subarray(1_000_000),
              headers: { ETag: tagOf(bytes), "Content-Range": "bytes 1000000-2999999/3000000" },
            }
          : undefined;
      expect((await at.go("home:/big.bin")).code).toBe(0);
      expect((await readFile(join(at.work, "big.bin"))).equals(bytes)).toBe(true);
    });
  });

  test("leaves no part when its name was taken meanwhile, and does not touch the other file", async () => {
    await inWork([big], async (at) => {
      await writeFile(join(at.work, partName), half);
      at.storage.override = async (_, key) => {
        if (key.endsWith("/download")) await writeFile(join(at.work, "big.bin"), "mine");
        return undefined;
      };
      expect((await at.go("home:/big.bin")).code).toBe(7);
      expect(await treeOf(at.work)).toEqual({ "big.bin": "mine" });
    });
  });

  test("leaves no part of less than a mebibyte", async () => {
    await inWork([big], async (at) => {
      await writeFile(join(at.work, partName), bytes.subarray(0, 1000));
      at.storage.override = (_, key) =>
        key.endsWith("/download") ? { status: 401, body: { detail: "Reconnect this" } } : undefined;
      expect((await at.go("home:/big.bin")).code).toBe(13);
      expect(await readdir(at.work)).toEqual([]);
    });
  });

  test("a download that is stopped in the middle by the connection is taken up at once where it was", async () => {
    await inWork([big], async ({ work, storage, go, requestedIds }) => {
      const broken = new Set<string>();
      storage.override = (request, key) => {
        if (!key.endsWith("/download") || broken.size === 4) return undefined;
        broken.add(request.headers.range ?? "all");
        const whole = download(request, big);
        return { ...whole, body: (whole.body as Buffer).subarray(0, 600_000), cut: true };
      };
      const ran = await go("home:/big.bin");
      expect([ran.code, ran.err]).toEqual([0, ""]);
      expect(requestedIds().length).toBeGreaterThanOrEqual(5);
      expect((await readFile(join(work, "big.bin"))).equals(bytes)).toBe(true);
    });
  });

  test("a download that is stopped in the middle continues to standard output as well, unless the item has changed", async () => {
    await inWork([big], async ({ storage, go }) => {
      let cuts = 1;
      storage.override = (request, key) => {
        if (!key.endsWith("/download") || cuts-- <= 0) return undefined;
        const whole = download(request, big);
        return { ...whole, body: half, cut: true };
      };
      const ran = await go("home:/big.bin -o -");
      expect([ran.code, ran.err]).toEqual([0, ""]);
      cuts = 1;
      const before = storage.override;
      storage.override = (request, key) => {
        const answer = before(request, key);
        if (answer !== undefined) storage.items[0] = { ...big, bytes: Buffer.alloc(3_000_000) };
        return answer;
      };
      const stale = await go("home:/big.bin -o -");
      expect([stale.code, stale.err]).toEqual([
        7,
        expect.stringContaining("was changed while it was read"),
      ]);
    });
  });
});

describe("an existing target", () => {
  test("refuses an existing target, and with --skip-existing keeps an equal one", async () => {
    const items = toItems(papers).map((one) => ({
      ...one,
      modifiedAt: "2020-01-01T00:00:00.000Z",
    }));
    await inWork(items, async ({ work, go, requestedIds, storage }) => {
      await go("home:/docs -r");
      const again = await go("home:/docs -r --json");
      expect(again.code).toBe(7);
      expect(again.error()["hint"]).toContain("--skip-existing");
      const before = requestedIds().length;
      const skipped = await go("home:/docs -r --skip-existing --json");
      expect(skipped.code).toBe(0);
      expect((skipped.json() as { skipped: string }[]).map((one) => one.skipped)).toEqual([
        "same",
        "same",
        "same",
      ]);
      expect(requestedIds()).toHaveLength(before);

      // Another size, and changed at the provider since: neither is the same.
      await writeFile(join(work, "docs/a.txt"), "longer");
      await utimes(join(work, "docs/none.txt"), 1, 1);
      const differing = await go("home:/docs -r --skip-existing --json");
      expect(differing.json()).toMatchObject([
        { skipped: "same" },
        { error: { code: "conflict" } },
        { error: { code: "conflict" } },
      ]);
      expect((await go("home:/docs -r --skip-existing --force")).code).toBe(0);
      expect(await readFile(join(work, "docs/a.txt"), "utf8")).toBe("a");
      expect(requestedIds()).toHaveLength(before + 2);
      expect(storage.busiest).toBeGreaterThan(0);
    });
  });

  test("--dry-run prints the plan and writes nothing", async () => {
    await inWork(toItems(papers), async ({ work, go, requestedIds }) => {
      const ran = await go("home:/docs -r -o to --dry-run --json");
      expect(ran.json()).toMatchObject({
        dry_run: true,
        downloads: [
          { item: "home:/docs/deep/ü 🎉.txt", path: join(work, "to/docs/deep/ü 🎉.txt"), size: 4 },
          { item: "home:/docs/a.txt", size: 1 },
          { item: "home:/docs/none.txt", size: 0 },
        ],
      });
      expect([await readdir(work), requestedIds()]).toEqual([[], []]);
    });
  });
});

describe("a word that is not an item", () => {
  test.each(["out.pdf", "./out", "~/x"])(
    "as the last one is taken for a target: %s",
    async (word) => {
      await inWork(toItems(papers), async ({ work, go, requestedIds }) => {
        const ran = await go(`home:/top.txt ${word} --json`);
        expect(ran.error()).toMatchObject({
          exit_code: 2,
          message: `${word} is not an item`,
          hint: `--output ${word} names the target; items are written CONNECTION:/path or CONNECTION:ID`,
        });
        expect([await readdir(work), requestedIds()]).toEqual([[], []]);
      });
    },
  );

  test("a single unknown item is reported as unknown", async () => {
    await inWork(toItems(papers), async ({ go }) => {
      const ran = await go("out.pdf --json");
      expect(ran.error()).toMatchObject({
        exit_code: 6,
        message: expect.stringContaining("the vault has no item"),
      });
    });
  });

  test("item ids and paths may be mixed in one command", async () => {
    await inWork(toItems(papers), async ({ work, go }) => {
      expect((await go("home:/top.txt docs/a.txt")).code).toBe(0);
      expect(await treeOf(work)).toEqual({ "a.txt": "a", "top.txt": "top" });
    });
  });
});

test("a missing folder is named in the error, not croft's own file in it", async () => {
  await inWork(toItems(papers), async ({ work, go }) => {
    const ran = await go("home:/top.txt -o missing/top.txt --json");
    expect(ran.error()).toMatchObject({
      code: "file_error",
      exit_code: 17,
      message: `${join(work, "missing")}: there is no such folder`,
    });
  });
});

test("a pipe as the target is written to and not replaced", async () => {
  await inWork(toItems(papers), async ({ work, go }) => {
    const pipe = join(work, "pipe");
    execFileSync("mkfifo", [pipe]);
    const [ran, read] = await Promise.all([go("home:/top.txt -o pipe"), readFile(pipe, "utf8")]);
    expect([ran.code, read, await readdir(work)]).toEqual([0, "top", ["pipe"]]);
  });
});
