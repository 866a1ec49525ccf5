import { describe, expect, test } from "vitest";
import {
  decodeSegments,
  nameBelow,
  toBase,
  toPlaceOf,
  toSegments,
  toUrl,
} from "../../../../../storage/cloud/webdav/address.ts";

function baseOf(url: string, root = "") {
  const placed = toBase(url, root);
  if (placed.kind !== "ok") throw new Error(JSON.stringify(placed));
  return placed.base;
}

test("a name is sent with every character encoded that could mean anything", () => {
  const base = baseOf("https://dav.example.org/my%20files/");
  const file = (name: string) => toUrl(base, { segments: [name], isFolder: false });
  expect(file("a b%#?+&\u00e9.txt")).toBe(
    "https://dav.example.org/my%20files/a%20b%25%23%3F%2B%26%C3%A9.txt",
  );
  expect(toUrl(base, { segments: ["a", "b"], isFolder: true })).toBe(
    "https://dav.example.org/my%20files/a/b/",
  );
  expect(toUrl(baseOf("http://127.0.0.1:8080"), { segments: [], isFolder: true })).toBe(
    "http://127.0.0.1:8080/",
  );
  expect(toUrl(baseOf("http://h/dav", "/a b/c"), { segments: [], isFolder: true })).toBe(
    "http://h/dav/a%20b/c/",
  );
});

test("addresses that hold secrets, are not http or end in something else are refused", () => {
  for (const [url, reason] of [
    ["dav.example.org", "not_an_address"],
    ["ftp://dav.example.org", "not_http"],
    ["file:///etc", "not_http"],
    ["https://anna:secret@dav.example.org", "has_credentials"],
    ["https://dav.example.org/?x=1", "has_query"],
    ["https://dav.example.org/#x", "has_query"],
    ["https://dav.example.org/%2e%2e%2fetc", "not_an_address"],
  ] as const)
    expect(toBase(url, "")).toEqual({ kind: "invalid_setting", setting: "url", reason });
  for (const root of ["..", "a/../../b", "a/./b", "a\0b"])
    expect(toBase("https://h/", root)).toMatchObject({ setting: "root", reason: "not_a_path" });
});

describe("an href", () => {
  test("an href is an absolute path or a full address with any host", () => {
    for (const href of [
      "/dav/a%20b/c%c3%a9",
      "/dav//a b/c\u00e9/",
      "http://internal:8080/dav/a%20b/c%C3%A9",
      "https://evil.example/dav/a%20b/c%C3%A9",
    ])
      expect(decodeSegments(href)).toEqual(["dav", "a b", "c\u00e9"]);
  });

  test("accepts an href with unencoded characters", () => {
    expect(decodeSegments("/dav/a#b?c")).toEqual(["dav", "a#b?c"]);
    expect(decodeSegments("/dav/100 %.txt")).toEqual(["dav", "100 %.txt"]);
  });

  test("never leads out of its folder", () => {
    for (const href of [
      "/dav/../etc",
      "/dav/%2e%2e/etc",
      "/dav/a%2Fb",
      "/dav/a%00b",
      "/dav/.",
      "/dav/%ff",
      "../../etc",
    ])
      expect(decodeSegments(href)).toBeUndefined();
  });

  test("an href is a child, the folder itself, or of no interest", () => {
    expect(nameBelow(["dav"], ["dav", "a"])).toBe("a");
    expect(nameBelow(["dav"], ["dav"])).toBe("");
    expect(nameBelow(["dav"], ["dav", "a", "b"])).toBeUndefined();
    expect(nameBelow(["dav", "a"], ["dav"])).toBeUndefined();
    expect(nameBelow(["dav"], ["other", "a"])).toBeUndefined();
  });
});

test("rejects ids that no item can have", () => {
  expect(toSegments("")).toEqual([]);
  expect(toPlaceOf("a/b c")).toEqual({
    segments: ["a", "b c"],
    parent: ["a"],
    parentId: "a",
    name: "b c",
  });
  for (const id of ["a//b", "/a", "a/", "..", "a/../b", "a/\0", "\ud800"])
    expect(toSegments(id)).toBeUndefined();
  expect(toPlaceOf("")).toBeUndefined();
});
