import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect } from "vitest";
import type { Behaviour } from "../cloud-provider.suite.ts";
import { calm, mkdir, pattern, put, stat, tree } from "./acting.ts";

/** Failures of the connection to the storage. */
export const failingBehaviours: readonly Behaviour[] = [
  {
    number: 50,
    title:
      "an expired token is renewed once for all; a refused renewal is reauth, and nothing more is asked",
    needs: ["expireToken", "refuseRenewal", "renewals", "requests"],
    async run({ provider, faults }) {
      const file = await put(provider, "", "file.txt", "x");
      faults.expireToken?.();
      const before = faults.renewals?.() ?? 0;
      const looks = await Promise.all(
        Array.from({ length: 20 }, () => provider.stat({ id: file.id, signal: calm })),
      );
      expect(new Set(looks.map(({ kind }) => kind))).toEqual(new Set(["ok"]));
      expect((faults.renewals?.() ?? 0) - before).toBe(1);
      faults.expireToken?.();
      faults.refuseRenewal?.();
      expect((await provider.stat({ id: file.id, signal: calm })).kind).toBe("reauth");
      const asked = faults.requests?.();
      expect((await provider.stat({ id: file.id, signal: calm })).kind).toBe("reauth");
      expect(faults.requests?.()).toBe(asked);
    },
  },
  {
    number: 51,
    title: "reports a rate limit with its delay, in seconds or as a date, and does nothing twice",
    needs: ["answer"],
    async run({ provider, faults }) {
      faults.answer?.(1, 429, { "Retry-After": "7" }, "");
      expect(await provider.createFolder({ parent: "", name: "a", signal: calm })).toMatchObject({
        kind: "rate_limited",
        retryAfterSeconds: 7,
      });
      faults.answer?.(1, 429, { "Retry-After": new Date(Date.now() + 90_000).toUTCString() }, "");
      const dated = await provider.createFolder({ parent: "", name: "a", signal: calm });
      expect(dated.kind === "rate_limited" && (dated.retryAfterSeconds ?? 0)).toBeGreaterThan(60);
      expect((await provider.createFolder({ parent: "", name: "a", signal: calm })).kind).toBe(
        "ok",
      );
      expect(await tree(provider)).toEqual({ "a/": "" });
    },
  },
  {
    number: 52,
    title:
      "refused connections, silence, rubbish and 5xx are offline, in bounded time, without secrets",
    needs: ["refuse", "stall", "answer"],
    async run({ provider, faults }) {
      const folder = await mkdir(provider, "", "folder");
      const faulty: (() => void)[] = [
        () => faults.refuse?.(),
        () => faults.stall?.(),
        () => faults.answer?.(9, 500, {}, "secret stack trace at https://internal.example"),
        () => faults.answer?.(9, 200, { "Content-Type": "application/json" }, "{{{"),
        () => faults.answer?.(9, 200, { "Content-Type": "text/xml" }, "x".repeat(200_000)),
      ];
      for (const fault of faulty) {
        fault();
        const outcome = await provider.list({ folder: folder.id, signal: calm });
        expect(outcome.kind).toBe("offline");
        expect(JSON.stringify(outcome)).not.toMatch(/https?:|secret|stack/);
        faults.clear?.();
      }
      expect(await tree(provider)).toEqual({ "folder/": "" });
    },
  },
  {
    number: 53,
    title: "a maintenance page with status 200 is offline, not an empty folder",
    needs: ["answer"],
    async run({ provider, faults }) {
      faults.answer?.(
        9,
        200,
        { "Content-Type": "text/html" },
        "<html><body>Back soon</body></html>",
      );
      expect((await provider.list({ folder: "", signal: calm })).kind).toBe("offline");
    },
  },
  {
    number: 54,
    title: "a redirect to another host is not followed with credentials",
    needs: ["redirect"],
    async run({ provider, faults }) {
      faults.redirect?.("http://169.254.169.254/latest/meta-data");
      expect((await provider.list({ folder: "", signal: calm })).kind).not.toBe("ok");
    },
  },
  {
    number: 55,
    title: "an aborted call releases its resources",
    async run({ provider }) {
      const controller = new AbortController();
      const content = Readable.from(
        (async function* () {
          yield pattern(200_000);
          controller.abort();
          yield pattern(200_000);
        })(),
        { objectMode: false },
      );
      const kind = await provider
        .upload({
          parent: "",
          name: "aborted",
          content,
          size: 400_000,
          contentType: undefined,
          signal: controller.signal,
        })
        .then(
          (outcome) => outcome.kind,
          () => "thrown",
        );
      expect(kind).not.toBe("ok");
      expect(content.destroyed).toBe(true);
      const file = await put(provider, "", "file.bin", pattern(2_000_000));
      const reading = new AbortController();
      const outcome = await provider.read({ id: file.id, signal: reading.signal });
      if (outcome.kind !== "ok") throw new Error(outcome.kind);
      reading.abort();
      await expect(buffer(outcome.stream)).rejects.toThrow();
      expect((await stat(provider, file.id)).size).toBe(2_000_000);
    },
  },
  {
    number: 56,
    title: "what is made here can be removed to the last item",
    async run({ provider }) {
      const folder = await mkdir(provider, "", "folder");
      await put(provider, folder.id, "file.txt", "x");
      const permanently = provider.capabilities.permanentDelete;
      const outcome = await provider.delete({
        id: folder.id,
        expected: {},
        permanently,
        signal: calm,
      });
      expect(outcome.kind).toBe("ok");
      expect(await tree(provider)).toEqual({});
    },
  },
];
