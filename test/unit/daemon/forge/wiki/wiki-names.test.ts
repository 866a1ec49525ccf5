import { describe, expect, test } from "vitest";
import {
  addressToName,
  findCandidates,
  findReserved,
  nameToPath,
  nameToTitle,
  pathToName,
  titleToName,
} from "../../../../../daemon/forge/wiki/wiki-names.ts";

describe("names of wiki pages", () => {
  test.each([
    ["", "unnamed"],
    [".", "unnamed"],
    ["..", "unnamed"],
    ["wiki name", "wiki-name"],
    ["title.md", "title.md.-"],
    ["wiki-name", "wiki-name.-"],
    ["the wiki-name", "the+wiki-name.-"],
    ["a/b", "a%2Fb"],
    ["a%b", "a%25b"],
    ["home of and & or wiki page!", "home-of-and-%26-or-wiki-page%21"],
    ["\u{d800}", "%EF%BF%BD"],
  ])("the title %j has the name %j in addresses", (title, name) => {
    expect(titleToName(title)).toBe(name);
  });

  test.each([
    ["wiki-name", "wiki name"],
    ["wiki-name.-", "wiki-name"],
    ["name-with %2F slash", "name with / slash"],
    ["name-with %25 percent", "name with % percent"],
    ["2000-01-02+meeting.-.md", "2000-01-02 meeting"],
    ["a%20b.md", "a b"],
  ])("the name %j has the title %j", (name, title) => {
    expect(nameToTitle(name)).toBe(title);
  });

  test.each([
    ["wiki%20name", "wiki-name.md"],
    ["wiki+name", "wiki-name.md"],
    ["wiki%20name.md", "wiki name.md"],
    ["wiki%2520name.md", "wiki%20name.md"],
    ["2000-01-02+meeting", "2000-01-02-meeting.md"],
    ["2000-01-02%20meeting.-", "2000-01-02 meeting.-.md"],
    ["home-of-and-%26-or-wiki-page%21", "home-of-and-%26-or-wiki-page%21.md"],
    ["%2E%2E%2Fsecret.md", "secret.md"],
  ])("the name %j has the file %j", (name, path) => {
    expect(nameToPath(name)).toBe(path);
  });

  test.each([
    ["hello-world.md", "hello-world"],
    ["hello world.md", "hello-world"],
    ["hello-world.-.md", "hello-world.-"],
    ["hello world.-.md", "hello+world.-"],
    ["symbols-%2F.md", "symbols-%2F"],
    ["nofileextension", undefined],
    ["wrongfileextension.txt", undefined],
    // Such files are reached by their own path.
    ["badescaping%%.md", "badescaping%25%25.md"],
    ["Mixed-case and blanks.md", "Mixed-case%20and%20blanks.md"],
  ])("the file %j has the name %j, by which it is found", (path, name) => {
    expect(pathToName(path)).toBe(name);
    if (name !== undefined) expect(findCandidates(name)).toContain(path);
  });

  test.each([
    ["a/b", "a%2Fb"],
    ["a", "a"],
    ["a/../b", "b"],
    ["../../x", "x"],
  ])("the end %j of an address is the name %j", (encoded, name) => {
    expect(addressToName(encoded)).toBe(name);
  });

  test("a link that does not encode the marks of a title finds its page, after a page of that very name", () => {
    expect(findCandidates("C++-notes")).toEqual([
      "C---notes.md",
      "C++-notes.md",
      "C   notes.md",
      "C%2B%2B-notes.md",
    ]);
  });

  test("every printable title keeps its name and its file through all forms", () => {
    const marks = Array.from({ length: 0x7f - 0x20 }, (_, index) =>
      String.fromCodePoint(index + 0x20),
    );
    const titles = marks.flatMap((one) => [`${one}x`, `x${one}y`, `a ${one}-b`, `x${one}.md`]);
    for (const title of titles.map((each) => each.trim())) {
      const name = titleToName(title);
      const path = nameToPath(name);
      expect([pathToName(path), nameToTitle(name), title]).toEqual([name, title, title]);
    }
  });

  test("the words of the wiki's own addresses are reserved", () => {
    expect(findReserved(titleToName("_pages"))).toBe("_pages");
    expect(findReserved(titleToName("raw"))).toBe("raw");
    expect(findReserved(titleToName("raw files"))).toBeUndefined();
  });
});
