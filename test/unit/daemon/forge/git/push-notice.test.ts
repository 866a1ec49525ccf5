import fc from "fast-check";
import { expect, test } from "vitest";
import { toPktLine } from "../../../../../daemon/forge/git/push-commands.ts";
import {
  createPacketInserter,
  createPushNotice,
} from "../../../../../daemon/forge/git/push-notice.ts";
import { cases } from "../../../../support/property.ts";

const changes = (count: number, prefix = "refs/tags/t") =>
  Array.from({ length: count }, (_, index) => ({
    ref: `${prefix}${index}`,
    before: undefined,
    after: "1".repeat(40),
  }));

test("a notice names the effects that a push exceeds, and counts branches and tags only", () => {
  const describe = createPushNotice([
    { text: "Workflows run for", refsMax: 3 },
    { text: "Activities show", refsMax: 2 },
  ]);
  expect(describe([...changes(2), ...changes(9, "refs/notes/n")])).toBeUndefined();
  expect(describe(changes(3))).toBe(
    "This push changes 3 branches and tags.\nActivities show the first 2.",
  );
  expect(describe(changes(4, "refs/heads/b"))).toBe(
    "This push changes 4 branches and tags.\nWorkflows run for the first 3.\nActivities show the first 2.",
  );
});

test("a packet is inserted between two others, however the stream is cut into chunks", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ maxLength: 9 }), { minLength: 1, maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 }),
      fc.nat({ max: 20 }),
      (texts, sizes, insertAt) => {
        const packets = [...texts.map(toPktLine), "0000"];
        const stream = Buffer.from(packets.join(""));
        const inserter = createPacketInserter();
        let output = "";
        for (let at = 0, index = 0; at < stream.byteLength; index += 1) {
          if (index === insertAt) inserter.insert(Buffer.from("0005!"));
          const size = sizes[index % sizes.length] ?? 1;
          output += inserter.pass(stream.subarray(at, at + size)).toString("latin1");
          at += size;
        }
        const expected = packets.map((_, index) =>
          Buffer.from(packets.toSpliced(index, 0, "0005!").join("")).toString("latin1"),
        );
        expect([...expected, stream.toString("latin1")]).toContain(output);
        if (insertAt === 0) expect(output).toBe(expected[0]);
      },
    ),
    cases(200),
  );
});

test("the rest of a stream is replaced between two packets, however it is cut into chunks", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), fc.nat({ max: 8 }), (size, replaceAt) => {
      const packets = ["one", "three", "seventeen"].map(toPktLine);
      const stream = Buffer.from(packets.join(""));
      const inserter = createPacketInserter();
      let output = "";
      for (let at = 0, index = 0; at < stream.byteLength; at += size, index += 1) {
        if (index === replaceAt) inserter.replaceRest(Buffer.from("0000"));
        output += inserter.pass(stream.subarray(at, at + size)).toString("latin1");
      }
      const cut = packets.map((_, index) => `${packets.slice(0, index).join("")}0000`);
      expect([...cut, packets.join("")]).toContain(output);
      if (replaceAt === 0) expect(output).toBe("0000");
    }),
    cases(100),
  );
});
