import fc from "fast-check";
import { expect, test } from "vitest";
import { putObject, readObject } from "../conformance/object-store.suite.ts";
import { openBucketSubject } from "../support/cloud/bucket-objects.ts";
import { cases } from "../support/property.ts";

// Two daemons publish, release and sweep the same few contents in one bucket, several operations at once. A referenced
// object is readable by both at any time; in the end unreferenced objects are deleted, and referenced ones exist once.

const RUNS = 25;
const HOUR_MS = 3_600_000;
const CONTENTS = ["a", "b"].map((text) => Buffer.from(text));

type Step =
  | { readonly do: "publish"; readonly who: number; readonly what: number }
  | { readonly do: "drop"; readonly what: number }
  | { readonly do: "sweep"; readonly who: number };

const who = fc.nat({ max: 1 });
const what = fc.nat({ max: CONTENTS.length - 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("publish" as const), who, what }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("drop" as const), what }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("sweep" as const), who }) },
);
const batch = fc.record({
  together: fc.array(step, { minLength: 1, maxLength: 5 }),
  hoursAfter: fc.constantFrom(0, 20, 30, 30),
});

test("two daemons in one bucket never sweep an object in use", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(batch, { maxLength: 8 }), async (batches) => {
      await using subject = await openBucketSubject();
      const stores = [subject.store, subject.other];
      const used = new Map<string, Buffer>();
      const sweep = (at: number) =>
        stores[at]?.sweep({
          before: subject.now() - 24 * HOUR_MS,
          async isInUse(sha256) {
            const isUsed = used.has(sha256);
            // Time passes between the reads of the database and the actions based on them.
            await subject.other.reach();
            await subject.other.reach();
            return isUsed;
          },
        });
      const names = new Map<number, string>();
      const act = async (one: Step) => {
        if (one.do === "sweep") return void (await sweep(one.who));
        if (one.do === "drop") return void used.delete(names.get(one.what) ?? "");
        const [store, bytes] = [stores[one.who], CONTENTS[one.what]];
        if (store === undefined || bytes === undefined) throw new Error("no such store or content");
        const sha256 = await putObject(store, bytes);
        names.set(one.what, sha256);
        used.set(sha256, bytes);
      };
      for (const { together, hoursAfter } of batches) {
        await Promise.all(together.map(act));
        for (const [sha256, bytes] of used)
          for (const store of stores) expect(await readObject(store, sha256, 1)).toEqual(bytes);
        await subject.age(hoursAfter * HOUR_MS);
      }
      await subject.age(48 * HOUR_MS);
      await sweep(0);
      for (const sha256 of names.values())
        expect(await subject.copies(sha256)).toBe(used.has(sha256) ? 1 : 0);
      expect(await subject.waiting()).toEqual([]);
    }),
    cases(RUNS),
  );
});
