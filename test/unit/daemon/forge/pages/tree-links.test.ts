import { expect, test } from "vitest";
import {
  followLink,
  type LinkEntry,
  toSubmoduleSource,
} from "../../../../../daemon/forge/pages/tree-links.ts";

const links: Readonly<Record<string, string>> = {
  guide: "docs/deep",
  "docs/deep/up": "../a.md",
  chain: "guide/up",
  "one-way": "other-way",
  "other-way": "one-way",
  "self/x": "../self/x/y",
};
const entries = new Map<string, LinkEntry["type"]>([
  ...Object.keys(links).map((path) => [path, "symlink"] as const),
  ["docs", "dir"],
  ["docs/deep", "dir"],
  ["docs/a.md", "file"],
  ["docs/a b", "file"],
  ["module", "submodule"],
]);

test.each([
  ["README.md", "docs/a.md", "docs/a.md"],
  ["README.md", "./docs//a b", "docs/a b"],
  ["docs/deep/x", "../a.md", "docs/a.md"],
  ["x", "docs/deep/", "docs/deep"],
  ["x", "guide/../a.md", "docs/a.md"],
  ["x", "chain", "docs/a.md"],
  ["x", "module", "module"],
  ["docs/x", "..", undefined],
  ["x", "docs/a.md/more", undefined],
  ["x", "docs/none", undefined],
  ["x", "none/../docs/a.md", undefined],
  ["x", "/docs/a.md", undefined],
  ["x", "../docs/a.md", undefined],
  ["docs/x", "../../repository/docs/a.md", undefined],
  ["x", "one-way", undefined],
  ["x", "self/x", undefined],
  ["x", "", undefined],
  ["x", null, undefined],
])("a link at %j to %j leads to %j, after few lookups", async (path, target, expected) => {
  let lookups = 0;
  const followed = await followLink({ path, target }, async (at) => {
    lookups += 1;
    const type = entries.get(at);
    return type && { type, size: 1, sha: "1", target: links[at] ?? null };
  });
  expect(followed?.path).toBe(expected);
  expect(lookups).toBeLessThanOrEqual(24);
});

test.each([
  ["../lang.git", "../lang.git", "/mira/lang"],
  ["../lang", "../lang", "/mira/lang"],
  ["../lang/", "../lang/", "/mira/lang"],
  ["../../team/a b.git", "../../team/a b.git", "/team/a%20b"],
  ["./../x", "./../x", "/mira/x"],
  ["./inside", "./inside", undefined],
  ["../", "../", undefined],
  ["../.git", "../.git", undefined],
  ["../../../x/y", "../../../x/y", undefined],
  ["https://forge.example.org/x/y.git", "https://forge.example.org/x/y.git", true],
  ["https://mira:pass@forge.example.org/x", "https://forge.example.org/x", true],
  ["http://token@forge.example.org/x", "http://forge.example.org/x", true],
  ["https://mira:pass@[bad/x", "https://[bad/x", undefined],
  ["ssh://git@forge.example.org/x", "ssh://git@forge.example.org/x", undefined],
  ["ssh://git:pass@forge.example.org/x", "ssh://git@forge.example.org/x", undefined],
  ["git@forge.example.org:x/y.git", "git@forge.example.org:x/y.git", undefined],
  ["git://forge.example.org/x", "git://forge.example.org/x", undefined],
])("a submodule of %j is shown as %j and leads to %j", (address, text, expected) => {
  const href = expected === true ? text : expected;
  expect(toSubmoduleSource(address, { owner: "mira", name: "work" })).toEqual({ text, href });
});
