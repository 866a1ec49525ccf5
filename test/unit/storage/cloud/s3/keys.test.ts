import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createKeys, refuseName, splitId, toShadow } from "../../../../../storage/cloud/s3/keys.ts";
import { cases } from "../../../../support/property.ts";

const keys = createKeys("home/mira/");

describe("ids and keys", () => {
  test.each([
    "plain.txt",
    "two words.txt",
    "100 %.txt",
    "%41%2F.txt",
    "a+b#c?d&e='f'\"g\".txt",
    "back\\slash",
    ".hidden/..more",
    "😀/עברית",
    "\u00e4",
    "a\u0308",
    "a/b/c",
  ])("%s is its own key", (id) => {
    expect(keys.toFileKey(id)).toBe(`home/mira/${id}`);
    expect(keys.toFolderPrefix(id)).toBe(`home/mira/${id}/`);
    expect(keys.toId(`home/mira/${id}`)).toBe(id);
  });

  test("the root is not a file", () => {
    expect(keys.toFileKey("")).toBeUndefined();
    expect(keys.toFolderPrefix("")).toBe("home/mira/");
    expect(createKeys("").toFolderPrefix("")).toBe("");
  });

  test("a key that is not a path of names is displayed with a marker and maps back to the same key", () => {
    for (const [key, id] of [
      ["a//b", "a/␛/b"],
      ["/b", "␛/b"],
      ["a/./b", "a/␛./b"],
      ["a/../../etc", "a/␛../␛../etc"],
      ["␛", "␛␛"],
      ["x␛", "␛x␛"],
    ] as const) {
      expect(keys.toId(`home/mira/${key}`)).toBe(id);
      expect(keys.toFileKey(id)).toBe(`home/mira/${key}`);
    }
  });

  test("every key has an id that leads back to it, and no segment of it is empty or made of dots", () => {
    const segment = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 6 }),
      fc.constantFrom("", ".", "..", "␛", "␛␛", "a␛", "␛a", "␛."),
    );
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1, maxLength: 5 }), (segments) => {
        const key = `home/mira/${segments.join("/")}`;
        const id = keys.toId(key);
        for (const part of id.split("/")) expect(["", ".", ".."]).not.toContain(part);
        if (!id.startsWith(".croft") && !key.endsWith("/")) expect(keys.toFileKey(id)).toBe(key);
      }),
      cases(),
    );
  });

  test("a folder beside a file of its name has an id of its own", () => {
    expect(keys.toFolderPrefix(toShadow("a/x"))).toBe("home/mira/a/x/");
    expect(keys.toFileKey(toShadow("a/x"))).toBeUndefined();
    expect(keys.toFileKey(`${toShadow("a/x")}/child`)).toBe("home/mira/a/x/child");
  });

  test("no name leads to the adapter's own folder, to a key that is too long or to invalid Unicode", () => {
    for (const id of [".croft", ".croft/journal/x", "x".repeat(1100), "\ud800"]) {
      expect(keys.toFileKey(id)).toBeUndefined();
      expect(keys.toFolderPrefix(id)).toBeUndefined();
    }
    for (const id of ["a/", "/a", "a//b", ".", "..", "a/../b", "/"]) {
      expect(keys.toFileKey(id)).toBeUndefined();
      expect(keys.toFolderPrefix(id)).toBeUndefined();
    }
    expect(keys.toFileKey("folder/.croft")).toBe("home/mira/folder/.croft");
  });

  test("an id is split at its last slash", () => {
    expect(splitId("a/b/c")).toEqual({ parent: "a/b", name: "c" });
    expect(splitId("c")).toEqual({ parent: "", name: "c" });
  });
});

describe("new names", () => {
  test.each([
    ["", "a/b", "slash"],
    ["", "..", "dot_name"],
    ["", ".croft", "reserved_name"],
    ["folder", "␛x", "reserved_name"],
    ["folder", "x␛", "reserved_name"],
    ["x".repeat(1000), "y".repeat(30), "path_too_long"],
  ])("refuses below %j the name %j by the rule %s", (parent, name, rule) => {
    expect(refuseName("", parent, name)).toEqual({ kind: "invalid_name", rule });
  });

  test("everything else may be made", () => {
    for (const name of ["a b", "%", "+", "#?&", " lead", "trail ", ".hidden", "😀"])
      expect(refuseName("root/", "folder", name)).toBeUndefined();
    expect(refuseName("", "folder", ".croft")).toBeUndefined();
  });
});
