import { expect, test } from "vitest";
import { chooseEncoding } from "../../../../daemon/pages/compression.ts";
import { toRelativeTime } from "../../../../daemon/pages/elements.tsx";
import { toFence } from "../../../../daemon/pages/page.ts";
import { toPlainText } from "../../../../daemon/forge/pages/recent-activity.tsx";

const now = Date.UTC(2026, 10, 28, 12, 0);
const at = (distanceMs: number) =>
  toRelativeTime(new Date(now + distanceMs).toISOString().replace(/\.\d+/, ""), now);

test("a time is shown by its distance, and by its date when it is more than 30 days away", () => {
  const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];
  expect([-1, -59_000, -minute, -59 * minute, -hour, -23 * hour, -day].map(at)).toEqual([
    "just now",
    "just now",
    "1 minute ago",
    "59 minutes ago",
    "1 hour ago",
    "23 hours ago",
    "1 day ago",
  ]);
  expect([2 * hour, 30 * day, -30 * day, -31 * day, 31 * day].map(at)).toEqual([
    "in 2 hours",
    "in 30 days",
    "30 days ago",
    "2026-10-28",
    "2026-12-29",
  ]);
  expect(toRelativeTime("not a time", now)).toBe("not a time");
});

test("a page is compressed with an encoding that the client accepts, brotli first", () => {
  expect(
    ["gzip, deflate, br", "gzip", "br;q=0, GZIP ;q=0.5", "identity", "br;q=0.0", undefined].map(
      chooseEncoding,
    ),
  ).toEqual(["br", "gzip", "gzip", undefined, undefined, undefined]);
});

test("the text of HTML has neither elements nor entities", () => {
  const html = `<h1 id="x">A</h1><p>b<strong>c</strong>, <a href="/x?a=1&amp;b=2">d</a> &lt;script&gt; &amp;amp;</p><ul><li>e</li></ul>`;
  expect(toPlainText(html)).toBe("A bc, d <script> &amp; e");
});

test("a fence is longer than every run of backticks, also in a text that has very many", () => {
  expect(toFence("no code")).toBe("```");
  expect(toFence("a ```` b ```\n``")).toBe("`````");
  expect(toFence("` ".repeat(256 * 1024))).toBe("```");
});
