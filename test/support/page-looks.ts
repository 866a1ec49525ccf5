import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";

/** Options of axe; `rules` limits a run to some. Styles of this server need no second download. */
const toOptions = (rules?: readonly string[]) => ({
  resultTypes: ["violations" as const],
  iframes: false,
  preload: false,
  ...(rules === undefined ? {} : { runOnly: [...rules] }),
});

/**
 * Loads a page once and looks at it twice: at 1200 pixels in light colours with all rules of axe, and at 360 pixels in dark
 * colours with the rules that depend on the appearance. It must fit in both, and run nothing of names. The address must
 * answer 200, or `status`.
 */
export async function assertLooks(page: Page, address: string, status = 200): Promise<void> {
  await prepareAxe(page);
  await page.setViewportSize({ width: 1200, height: 900 });
  await page.emulateMedia({ colorScheme: "light" });
  const answer = await page.goto(address);
  expect.soft([address, answer?.status()]).toEqual([address, status]);
  await assertShown(page, address);
}

/** The same for the page that is open. */
export async function assertShown(page: Page, what: string): Promise<void> {
  await page.setViewportSize({ width: 1200, height: 900 });
  await page.emulateMedia({ colorScheme: "light" });
  if (!prepared.has(page)) await page.evaluate(axe.source);
  await page.evaluate(() => {
    for (const menu of document.querySelectorAll("details")) menu.open = true;
  });
  const wide = await look(page);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setViewportSize({ width: 360, height: 900 });
  const narrow = await look(page, ["color-contrast"]);
  const good = { violations: [], overflow: 0, active: 0 };
  expect.soft({ what, wide, narrow }).toEqual({ what, wide: good, narrow: good });
}

const prepared = new WeakSet<Page>();

/** Puts axe into each document that the page will load, which takes half the time of sending it to each one. */
export async function prepareAxe(page: Page): Promise<void> {
  if (prepared.has(page)) return;
  await page.addInitScript({ content: axe.source });
  prepared.add(page);
}

/** A page without its script, on which axe cannot run: it fits in both widths. */
export async function assertPlain(page: Page, address: string): Promise<void> {
  const answer = await page.goto(address);
  const found: number[] = [];
  for (const width of [1200, 360]) {
    await page.setViewportSize({ width, height: 900 });
    found.push(await page.evaluate(measureOverflow));
  }
  const good = { address, status: 200, found: [0, 0] };
  expect.soft({ address, status: answer?.status(), found }).toEqual(good);
}

async function look(page: Page, rules?: readonly string[]) {
  const violations = await page.evaluate(async (options) => {
    const { axe: runner } = globalThis as unknown as { axe: typeof axe };
    const found = await runner.run(options);
    return found.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  }, toOptions(rules));
  const active = await page
    .locator("script:not(head > script), iframe, object, embed, base, [onerror], [onclick]")
    .count();
  return { violations, overflow: await page.evaluate(measureOverflow), active };
}

function measureOverflow(): number {
  const { scrollWidth, clientWidth } = document.documentElement;
  return scrollWidth - clientWidth;
}
