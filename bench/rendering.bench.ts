import { monitorEventLoopDelay } from "node:perf_hooks";
import createMarkdownIt from "markdown-it";
import type { RenderMode } from "../daemon/rendering/document.ts";
import { createHighlighting, highlight } from "../daemon/rendering/markdown/highlight.ts";
import { createRenderer } from "../daemon/rendering/renderer.ts";
import { createRendering, createRenderingThreads } from "../daemon/rendering/rendering.service.ts";
import { floods, longRuns } from "../test/support/floods.ts";
import { atLeast, atMost, report } from "./measure.ts";

// Markdown of a README and of comments against the bare library in the same rounds; then the delay of the event loop while
// one large document is rendered.

const README_BYTES = 20 * 1024;
const ROUNDS = 200;

/** Written for this: headings, prose with links and emphasis, lists, tables, code, an image now and then. */
const section = (number: number) => `## ${number}. What it is good for

Some *emphasis*, some **strong words**, \`code()\`, a [link](docs/page-${number}.md "with a title") and another
<https://example.org/page?number=${number}>. A paragraph is a few lines of prose that says what a reader wants to know,
with a reference to [section ${number + 1}](#${number + 1}-what-it-is-good-for) and nothing else that is special.

![screenshot](images/shot-${number}.png)

- first point, with \`inline code\`
- second point, which has more to say than the first one and goes on for a while
  - a point below it
- third point

| option | default | meaning |
|--------|:-------:|---------|
| \`size\` | ${number} | how large |
| \`name\` | none | what it is called |

\`\`\`js
import { open } from "example";

const file = await open("./data-${number}.txt", { retries: ${number} });
for (const line of file) {
  if (line.length > 80) console.log(line.slice(0, 80)); // too long
}
\`\`\`

`;
const makeReadme = (first: number) =>
  Array.from({ length: 40 }, (_, index) => section(first + index))
    .join("")
    .slice(0, README_BYTES);
const readme = makeReadme(1);
const comment = (number: number) =>
  `Thanks @mira, this **works** now, see #${number} and \`git log\`.\n\nThe rest is for [later](https://example.org/${number}) :tada:\n`;

const root = "http://localhost:3000/";
const renderer = createRenderer({ secret: "bench:", decorates: true });
const bare = createMarkdownIt({ html: true });
const colouring = createMarkdownIt({
  html: true,
  highlight: (code, name) => highlight(code, name, createHighlighting()),
});
const input = (text: string, mode: RenderMode) => ({
  text,
  mode,
  root,
  context: "/o/r/src/branch/main",
  filePath: "",
  mentionable: ["mira"],
});

/** Each with the same texts, no two alike, taking turns; milliseconds for one call. */
async function compare(
  calls: Readonly<Record<string, (text: string) => unknown>>,
): Promise<Map<string, number>> {
  const times = new Map(Object.keys(calls).map((name) => [name, [] as number[]]));
  for (let round = 0; round < ROUNDS; round += 1) {
    const text = makeReadme(1 + round * 100);
    for (const [name, call] of Object.entries(calls)) {
      const startedAt = performance.now();
      await call(text);
      if (round >= ROUNDS / 4) times.get(name)?.push(performance.now() - startedAt);
    }
  }
  return new Map([...times].map(([name, values]) => [name, tenth(values)]));
}

/** Returns the tenth percentile: on a busy machine the median says more about the other processes. */
function tenth(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 10)] ?? Number.NaN;
}

const times = await compare({
  bare: (text) => bare.render(text),
  colouring: (text) => colouring.render(text),
  markdown: (text) => renderer.render(input(text, "markdown")),
  gfm: (text) => renderer.render(input(text, "gfm")),
});
const of = (name: string) => times.get(name) ?? Number.NaN;
report(
  `A README of ${README_BYTES} bytes`,
  "The sanitizer parses the whole document again, so the same work as the plain library may take twice as long.",
  [
    { label: "markdown-it alone", value: `${of("bare").toFixed(2)} ms` },
    { label: "markdown-it with colours", value: `${of("colouring").toFixed(2)} ms` },
    { label: "croft, mode markdown", value: `${of("markdown").toFixed(2)} ms` },
    { label: "croft, mode gfm with references", value: `${of("gfm").toFixed(2)} ms` },
    {
      label: "speed of mode markdown, of markdown-it alone",
      value: (of("bare") / of("markdown")).toFixed(2),
    },
    atLeast(
      "speed of mode markdown, of markdown-it with colours",
      of("colouring") / of("markdown"),
      0.5,
    ),
    {
      label: "speed of mode gfm, of markdown-it with colours",
      value: (of("colouring") / of("gfm")).toFixed(2),
    },
  ],
);

const COMMENTS = 3_000;
const texts = Array.from({ length: COMMENTS }, (_, number) => comment(number));
for (const text of texts.slice(0, 300)) await renderer.render(input(text, "comment"));
const startedAt = performance.now();
for (const text of texts) await renderer.render(input(text, "comment"));
const perSecond = COMMENTS / ((performance.now() - startedAt) / 1000);
report(
  "Comments of 120 characters, no two alike, one core",
  "A page shows tens of comments, so each must take less than a millisecond.",
  [atLeast("comments", perSecond, 1_000, "/s")],
);

const large = readme.repeat(52).slice(0, 1024 * 1024);
const rendering = createRendering({
  threads: createRenderingThreads((bytes) => crypto.getRandomValues(new Uint8Array(bytes))),
  findMentionable: async () => [],
  publicUrl: () => "http://localhost:3000",
  reportBug: (error) => {
    throw error;
  },
});
const ask = (text: string) =>
  rendering.render({
    text,
    mode: "gfm",
    context: "/o/r",
    filePath: "",
    isWiki: false,
    caller: "bench",
  });
// The first one also starts the thread.
await ask(`${large} first`);
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const begunAt = performance.now();
const { kind } = await ask(large);
const took = performance.now() - begunAt;
delay.disable();
const here = await compareOnce(() => renderer.render(input(large, "gfm")));
await rendering.close();
report(
  "A document of 1 MiB, rendered beside the event loop",
  "Large texts are rendered in a thread, so other requests do not wait for them.",
  [
    { label: "answer", value: `${kind} after ${took.toFixed(0)} ms` },
    { label: "the same on the event loop", value: `${here.toFixed(0)} ms` },
    atMost("event loop late by at most", delay.max / 1e6, 50, "ms"),
  ],
);

async function compareOnce(call: () => unknown): Promise<number> {
  const from = performance.now();
  await call();
  return performance.now() - from;
}

const FLOOD_BYTES = 1024 * 1024;
const figures = [];
for (const [name, flood] of Object.entries({ ...floods, ...longRuns })) {
  const text = flood(FLOOD_BYTES);
  const from = performance.now();
  const rendered = await renderer.render(input(text, "gfm"));
  const ms = performance.now() - from;
  figures.push(atMost(`${name}, ${rendered.kind}`, ms, 1_000, "ms"));
}
report(
  "Hostile text of 1 MiB",
  "The worst text that fits must end before its budget, for other users' sake.",
  figures,
);
