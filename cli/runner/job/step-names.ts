import type { StepDefinition } from "./payload.ts";

/**
 * Returns `github.action` of each step of a list: its id, or a name made of its action, `__run` for a script, as the public
 * documentation of workflows describes it. Further steps of one name get a number: `__run_2`.
 */
export function toStepNames(
  steps: readonly Pick<StepDefinition, "id" | "uses">[],
): readonly string[] {
  const taken = new Set(steps.map(({ id }) => id));
  const counts = new Map<string, number>();
  return steps.map(({ id, uses }) => {
    if (id !== undefined) return id;
    const base = `__${toBase(uses)}`;
    for (;;) {
      const count = (counts.get(base) ?? 0) + 1;
      counts.set(base, count);
      const name = count === 1 ? base : `${base}_${count}`;
      if (!taken.has(name)) {
        taken.add(name);
        return name;
      }
    }
  });
}

function toBase(uses: string | undefined): string {
  if (uses === undefined) return "run";
  if (/^\.\.?\//.test(uses)) return "self";
  const path = uses.replace(/@.*$/s, "").replace(/^https?:\/\//i, "");
  return path.replaceAll(/[^A-Za-z0-9]+/g, "_").replaceAll(/^_+|_+$/g, "");
}
